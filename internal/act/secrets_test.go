package act_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/act"
)

var planted = regexp.MustCompile(`«([^»]*)»`)

// plantedLine is a command line with the secrets that stand in it.
type plantedLine struct {
	text    string
	secrets []string
}

func plantedLines(t testing.TB) []plantedLine {
	t.Helper()
	b, err := os.ReadFile("testdata/secrets.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines []plantedLine
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		l := plantedLine{text: strings.NewReplacer("«", "", "»", "").Replace(line)}
		for _, m := range planted.FindAllStringSubmatch(line, -1) {
			l.secrets = append(l.secrets, m[1])
		}
		if len(l.secrets) == 0 {
			t.Fatalf("no secret is planted in %q", line)
		}
		lines = append(lines, l)
	}
	return lines
}

// travels is everything that leaves the process: the record, the targets, the place and the interests.
func travels(r act.Recognised) any {
	kube, _ := act.ResolveKube(act.Kubeconfig{}, act.KubeOverridesOf(r), act.InCluster{})
	talos, _ := act.ResolveTalos(act.Talosconfig{}, act.TalosOverridesOf(r))
	return []any{r, kube, talos, r.WithPlace(kube), r.WithPlace(talos), act.Interests(r, kube, noon, 0), act.Interests(r, talos, noon, 0)}
}

// leaks lists the secrets of a line that a record has kept.
func leaks(l plantedLine, r act.Recognised) []string {
	b, err := json.Marshal(travels(r))
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	for _, secret := range l.secrets {
		quoted, _ := json.Marshal(secret)
		if strings.Contains(string(b), strings.Trim(string(quoted), `"`)) {
			found = append(found, secret)
		}
	}
	return found
}

func TestRecordKeepsNoSecret(t *testing.T) {
	list := recognisers(t)
	lines := plantedLines(t)
	if len(lines) < 100 {
		t.Errorf("only %d command lines have planted secrets", len(lines))
	}
	for _, l := range lines {
		argv, env := command(l.text)
		if found := leaks(l, act.Match(list, argv, lookup(env))); len(found) > 0 {
			t.Errorf("%s\n keeps %q", l.text, found)
		}
	}
}

// permissive is a recogniser without the allow-list: every flag's value is kept if it looks like a name.
func permissive(r act.Recogniser) *act.Recogniser {
	open := func(list []act.Flag) []act.Flag {
		out := make([]act.Flag, len(list))
		for i, f := range list {
			f.Shape = act.ShapeName
			out[i] = f
		}
		return out
	}
	r.Flags = open(r.Flags)
	r.Sets = append([]act.FlagSet(nil), r.Sets...)
	for i := range r.Sets {
		r.Sets[i].Flags = open(r.Sets[i].Flags)
	}
	r.Groups = append([]act.Group(nil), r.Groups...)
	for i := range r.Groups {
		r.Groups[i].Flags = open(r.Groups[i].Flags)
	}
	r.Commands = append([]act.Command(nil), r.Commands...)
	for i := range r.Commands {
		r.Commands[i].Flags = open(r.Commands[i].Flags)
	}
	return &r
}

// Controls: without the allow-list, and without any recogniser, the corpus must hit.
func TestRecordKeepsNoSecretControl(t *testing.T) {
	var open []*act.Recogniser
	for _, r := range recognisers(t) {
		open = append(open, permissive(*r))
	}
	withoutList, verbatim := 0, 0
	lines := plantedLines(t)
	for _, l := range lines {
		argv, env := command(l.text)
		if len(leaks(l, act.Match(open, argv, lookup(env)))) > 0 {
			withoutList++
		}
		if len(leaks(l, act.Recognised{Recorded: argv})) > 0 {
			verbatim++
		}
	}
	if withoutList < 60 {
		t.Errorf("without the allow-list only %d lines leak", withoutList)
	}
	if verbatim < len(lines)-10 {
		t.Errorf("recorded as they are only %d of %d lines leak", verbatim, len(lines))
	}
	t.Logf("%d lines; %d leak without the allow-list, %d as they are", len(lines), withoutList, verbatim)
}
