package dispatch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated parts of docs/protocol.md")

const protocolPage = "../../docs/protocol.md"

// when says in words under which condition an event leads from a state to another; the pairs are Table's.
var when = map[State]map[EventKind]string{
	Absent: {
		Commit:      "the commitment holds: comparisons 0 to 6",
		AdoptRecord: "an adoption is recorded; nothing is sent",
	},
	Committed: {
		RecordAttempt:  "the attempt holds: comparisons 1, 2, 3, 6 to 9",
		AttemptRefused: "the attempt is refused by comparison 1, 2, 3 or 6",
		Takeover:       "another executor takes over",
	},
	Sending: {
		Accept:   "the node's acceptance of this attempt is recorded by the owner",
		Reject:   "a definitive rejection of this attempt is recorded; the operation is unresolved while an earlier attempt has none",
		Lose:     "the answer is lost, or proves nothing",
		Takeover: "another executor takes over",
	},
	Verifying: {
		Complete:   "every attempt is accounted for, and a reading begun after that shows every postcondition",
		Contradict: "the same at the verification deadline, and the newest reading contradicts a postcondition",
		Overdue:    "the verification deadline has passed without either",
		Takeover:   "another executor takes over",
	},
	Unresolved: {
		Complete:      "every attempt is accounted for, and a reading begun after that shows every postcondition",
		Contradict:    "something was attempted, all of it is accounted for, a reading begun after that contradicts a postcondition, and no retry can ever be admitted",
		LateReject:    "definitive rejections are recorded for every attempt; not after a restore",
		RecordAttempt: "the owner has classified it as safe to retry, and the attempt holds",
		Cancel:        "nothing was ever attempted, and either nothing ever can be or a recovery-admin says so",
		Takeover:      "another executor takes over; the classification is gone",
	},
}

func orDash(s State) string {
	if s == Absent {
		return "–"
	}
	return string(s)
}

func transitionTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| From | Event | To | When |\n| --- | --- | --- | --- |\n")
	for _, from := range States {
		for _, event := range Events {
			to, ok := Table[from][event]
			if !ok {
				continue
			}
			if when[from][event] == "" {
				t.Errorf("no words for %s from %s", event, orDash(from))
			}
			var names []string
			for _, s := range to {
				names = append(names, string(s))
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", orDash(from), event, strings.Join(names, " or "), when[from][event])
		}
	}
	return b.String()
}

func transitionPicture() string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	for _, from := range States {
		labels := map[State][]string{}
		for _, event := range Events {
			for _, to := range Table[from][event] {
				labels[to] = append(labels[to], string(event))
			}
		}
		for _, to := range States {
			if len(labels[to]) > 0 {
				name := string(from)
				if from == Absent {
					name = "[*]"
				}
				fmt.Fprintf(&b, "    %s --> %s: %s\n", name, to, strings.Join(labels[to], ", "))
			}
		}
	}
	for _, s := range States {
		if s.Terminal() {
			fmt.Fprintf(&b, "    %s --> [*]\n", s)
		}
	}
	b.WriteString("```\n")
	return b.String()
}

// TestProtocolPage keeps docs/protocol.md what the code says: picture and table are generated, every comparison, code of
// a refusal, and invariant is spoken of. -update writes the generated parts.
func TestProtocolPage(t *testing.T) {
	b, err := os.ReadFile(protocolPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	want := page
	for name, text := range map[string]string{"picture": transitionPicture(), "table": transitionTable(t)} {
		begin, end := "<!-- generated: "+name+" -->\n", "<!-- end of "+name+" -->\n"
		from, to := strings.Index(want, begin), strings.Index(want, end)
		if from < 0 || to < from {
			t.Fatalf("%s has no place for the %s", protocolPage, name)
		}
		want = want[:from+len(begin)] + text + want[to:]
	}
	switch {
	case page == want:
	case *update:
		if err := os.WriteFile(protocolPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what the code says: run go test ./internal/dispatch -run TestProtocolPage -update", protocolPage)
	}
	for n := range 10 {
		if !strings.Contains(page, fmt.Sprintf("\n| %d | ", n)) {
			t.Errorf("comparison %d is not on the page", n)
		}
	}
	for n := 1; n <= 18; n++ {
		if !strings.Contains(page, fmt.Sprintf("\n| I%d | ", n)) {
			t.Errorf("invariant %d is not on the page", n)
		}
	}
	for _, code := range refusalCodes(t) {
		if !strings.Contains(page, "`"+code+"`") {
			t.Errorf("the refusal %s is not on the page", code)
		}
	}
}

// refusalCodes are the codes that the numbered comparisons give.
func refusalCodes(t *testing.T) []string {
	returned := regexp.MustCompile(`return "([a-z-]+)",`)
	var codes []string
	for _, file := range []string{"compare.go", "judge.go"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range returned.FindAllStringSubmatch(string(b), -1) {
			codes = append(codes, m[1])
		}
	}
	if len(codes) < 20 {
		t.Fatalf("only %d codes found", len(codes))
	}
	return codes
}

// TestEveryInvariantHasItsPlaces: each invariant is named in the package documentation, at a line that enforces it and by
// a test. Invariant 7 has no place in this package: nothing secret comes here.
func TestEveryInvariantHasItsPlaces(t *testing.T) {
	enforced, tested := map[int]bool{}, map[int]bool{}
	mark, test := regexp.MustCompile(`\bI(\d+)\b`), regexp.MustCompile(`func Test((?:I\d+)+)[A-Z]`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := filepath.Glob("../talos/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, secrets...) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		elsewhere := strings.HasPrefix(file, "..")
		for line := range strings.Lines(string(b)) {
			_, comment, _ := strings.Cut(line, "//")
			for _, m := range test.FindAllStringSubmatch(line, -1) {
				for _, n := range mark.FindAllStringSubmatch(strings.ReplaceAll(m[1], "I", " I"), -1) {
					note(tested, n[1], elsewhere)
				}
			}
			if strings.HasSuffix(file, "_test.go") || file == "doc.go" {
				continue
			}
			for _, n := range mark.FindAllStringSubmatch(comment, -1) {
				note(enforced, n[1], elsewhere)
			}
		}
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 18; n++ {
		if !strings.Contains(string(doc), fmt.Sprintf("//\tI%d ", n)) {
			t.Errorf("I%d is not in the package documentation", n)
		}
		if !enforced[n] {
			t.Errorf("no line says that it enforces I%d", n)
		}
		if !tested[n] {
			t.Errorf("no test is named after I%d", n)
		}
	}
}

// note notes an invariant's number; elsewhere only number 7 counts.
func note(in map[int]bool, number string, elsewhere bool) {
	if n, err := strconv.Atoi(number); err == nil && (n == 7 || !elsewhere) {
		in[n] = true
	}
}
