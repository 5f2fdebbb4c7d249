package drill

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"

	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/talos"
)

// pattern is something that must be nowhere in the evidence. Its name may be.
type pattern struct {
	name  string
	bytes []byte
}

// secrets are this run's own: what a leak would show.
type secrets struct {
	mu   sync.Mutex
	list []pattern
	errs []string // what could not be learnt; the run is no evidence then

	control pattern // planted, to show that the search finds
}

// minSecret is the shortest text that is searched for: a shorter one is found everywhere.
const minSecret = 8

func newSecrets() *secrets {
	return &secrets{control: pattern{"planted control", []byte("planted-" + rand.Text())}}
}

func (s *secrets) add(name string, value []byte) {
	value = bytes.TrimSpace(value)
	if len(value) < minSecret {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	forms := [][]byte{value, []byte(base64.StdEncoding.EncodeToString(value))}
	if quoted, err := json.Marshal(string(value)); err == nil {
		forms = append(forms, quoted[1:len(quoted)-1])
	}
	forms = append(forms, []byte(url.QueryEscape(string(value))))
	for _, f := range forms {
		if !slices.ContainsFunc(s.list, func(p pattern) bool { return bytes.Equal(p.bytes, f) }) {
			s.list = append(s.list, pattern{name, bytes.Clone(f)})
		}
	}
}

func (s *secrets) unknown(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, fmt.Sprintf(format, args...))
}

// ofLab adds the secrets of a lab: what its machines' configurations hide, and its clients' keys.
func (s *secrets) ofLab(l *lab.Lab) {
	for _, n := range l.Nodes() {
		b, err := os.ReadFile(filepath.Join(n.Dir(), "platform.yaml"))
		if err != nil {
			s.unknown("the configuration of %s: %v", n.Name(), err)
			continue
		}
		s.ofConfiguration(b)
	}
	s.ofTalosconfig(l.Talosconfig())
}

// ofConfiguration adds what a machine's configuration hides.
func (s *secrets) ofConfiguration(config []byte) {
	for _, v := range talos.SecretValues(secret.Of(config)) {
		s.add("machine secret", v)
	}
}

// ofTalosconfig adds the keys of clients.
func (s *secrets) ofTalosconfig(path string) {
	c, err := clientconfig.Open(path)
	if err != nil {
		s.unknown("the talosconfig: %v", err)
		return
	}
	for _, context := range c.Contexts {
		s.add("client key", []byte(context.Key))
		if pem, err := base64.StdEncoding.DecodeString(context.Key); err == nil {
			s.keyLines("client key", pem)
		}
	}
}

// keyLines adds the lines of a key that say something.
func (s *secrets) keyLines(name string, pem []byte) {
	for line := range bytes.Lines(pem) {
		if line = bytes.TrimSpace(line); len(line) >= 16 && !bytes.HasPrefix(line, []byte("-----")) {
			s.add(name, line)
		}
	}
}

// ofKeyFile adds the key that a row's configurations are encrypted with.
func (s *secrets) ofKeyFile(path string) {
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return // no configuration was ever kept
	}
	if err != nil {
		s.unknown("a row's key: %v", err)
		return
	}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			s.add("artifact key", []byte(line))
		}
	}
}

func (s *secrets) hide(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.list {
		text = strings.ReplaceAll(text, string(p.bytes), "[hidden]")
	}
	return text
}

// leakLine is one line of leak-scan.tsv: a kind of secret, how many patterns of it were searched for, and where they hit.
type leakLine struct {
	kind     string
	patterns int
	hits     int
	files    []string
}

// scan searches every file of the evidence for every pattern, the planted control included.
func (s *secrets) scan(dir string) ([]leakLine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := append(slices.Clone(s.list), s.control)
	byKind := map[string]*leakLine{}
	for _, p := range list {
		if byKind[p.name] == nil {
			byKind[p.name] = &leakLine{kind: p.name}
		}
		byKind[p.name].patterns++
	}
	err := eachFile(dir, func(name string, content []byte) error {
		for _, p := range list {
			if n := bytes.Count(content, p.bytes); n > 0 {
				l := byKind[p.name]
				l.hits += n
				if !slices.Contains(l.files, name) {
					l.files = append(l.files, name)
				}
			}
		}
		return nil
	})
	var lines []leakLine
	for _, l := range byKind {
		lines = append(lines, *l)
	}
	slices.SortFunc(lines, func(a, b leakLine) int { return strings.Compare(a.kind, b.kind) })
	return lines, err
}

const leakHeader = "secret\tpatterns\thits\tfiles"

func writeLeaks(path string, lines []leakLine) error {
	var b strings.Builder
	fmt.Fprintln(&b, leakHeader)
	for _, l := range lines {
		fmt.Fprintf(&b, "%s\t%d\t%d\t%s\n", l.kind, l.patterns, l.hits, strings.Join(l.files, ","))
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}

func readLeaks(path string) ([]leakLine, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	if !lines.Scan() || lines.Text() != leakHeader {
		return nil, fmt.Errorf("%s does not begin with its header", leakFile)
	}
	var out []leakLine
	for lines.Scan() {
		f := strings.Split(lines.Text(), "\t")
		if len(f) != 4 {
			return nil, fmt.Errorf("%s has a line of %d fields", leakFile, len(f))
		}
		l := leakLine{kind: f[0]}
		if _, err := fmt.Sscanf(f[1]+" "+f[2], "%d %d", &l.patterns, &l.hits); err != nil {
			return nil, fmt.Errorf("%s: %w", leakFile, err)
		}
		if f[3] != "" {
			l.files = strings.Split(f[3], ",")
		}
		out = append(out, l)
	}
	return out, lines.Err()
}

// judgeLeaks says what is wrong with a search: the control has to be found where it was planted and nowhere else, and no
// secret anywhere.
func judgeLeaks(lines []leakLine) (problems []string) {
	fired := false
	for _, l := range lines {
		if l.kind == "planted control" {
			fired = l.hits == 1 && slices.Equal(l.files, []string{plantedFile})
			continue
		}
		if l.hits > 0 {
			problems = append(problems, fmt.Sprintf("%s found in %s", l.kind, strings.Join(l.files, ", ")))
		}
	}
	if !fired {
		problems = append(problems, "the planted control was not found where it was planted, and only there")
	}
	if len(lines) < 2 {
		problems = append(problems, "no secret was searched for")
	}
	return problems
}
