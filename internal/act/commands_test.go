package act_test

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/wrap/recogniserfile"
)

// allRecognisers reads the recognisers that users copy, once, and puts them behind the shipped ones.
var allRecognisers = sync.OnceValues(func() ([]*act.Recogniser, error) {
	list := act.Shipped()
	files, err := filepath.Glob("../../docs/recognisers/*.yaml")
	if err != nil || len(files) == 0 {
		return nil, errors.New("there are no recognisers to copy")
	}
	for _, file := range files {
		r, err := recogniserfile.Read(file)
		if err != nil {
			return nil, err
		}
		list = append(list, &r)
	}
	return list, nil
})

// recognisers are the shipped ones and those that users copy.
func recognisers(t testing.TB) []*act.Recogniser {
	t.Helper()
	list, err := allRecognisers()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// words splits a line as a shell would: single and double quotes, and a backslash outside single quotes.
func words(line string) []string {
	var list []string
	var b strings.Builder
	open, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, open = c, true
		case c == '\\' && quote != '\'' && i+1 < len(line):
			i++
			b.WriteByte(line[i])
			open = true
		case c == ' ' && quote == 0:
			if open {
				list = append(list, b.String())
				b.Reset()
				open = false
			}
		default:
			b.WriteByte(c)
			open = true
		}
	}
	if open {
		list = append(list, b.String())
	}
	return list
}

// command takes NAME=VALUE assignments off the front of a command line.
func command(line string) (argv []string, env map[string]string) {
	argv, env = words(line), map[string]string{}
	for len(argv) > 0 {
		name, value, ok := strings.Cut(argv[0], "=")
		if !ok || name != strings.ToUpper(name) || strings.HasPrefix(name, "-") {
			break
		}
		env[name], argv = value, argv[1:]
	}
	return argv, env
}

func lookup(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

// described is a recognised command as the tables write it.
func described(r act.Recognised) string {
	class := string(r.Class)
	switch {
	case r.Local && r.Class == act.Read:
		class = "local"
	case r.Local:
		class += " local"
	}
	var targets []string
	for _, t := range r.WithPlace(act.Place{Nodes: r.Selector(act.SelectNodes)}) {
		s := t.String()
		if t.Name == "" && r.TargetsOpen {
			s = strings.Replace(s, t.Kind, t.Kind+" +", 1)
		}
		targets = append(targets, s)
	}
	list := strings.Join(targets, ", ")
	switch {
	case list == "" && r.TargetsOpen:
		list = "- +"
	case list == "":
		list = "-"
	case r.TargetsOpen && !strings.Contains(list, "+"):
		list += " +"
	}
	var selectors []string
	for _, s := range r.Selectors {
		sign := "="
		if s.Environment {
			sign = "~"
		}
		selectors = append(selectors, string(s.Name)+sign+strings.Join(s.Values, ","))
	}
	slices.Sort(selectors)
	chosen := strings.Join(selectors, " ")
	if chosen == "" {
		chosen = "-"
	}
	tail := "-"
	if r.Tail > 0 {
		tail = short(r.Tail)
	}
	return strings.Join([]string{class, list, chosen, tail}, " | ")
}

func short(d time.Duration) string {
	s := d.String()
	s = strings.TrimSuffix(s, "0s")
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	if s == "3" {
		s = "30s"
	}
	return s
}

func TestCommands(t *testing.T) {
	list := recognisers(t)
	files, err := filepath.Glob("testdata/commands/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		n := 0
		for scan := bufio.NewScanner(f); scan.Scan(); {
			n++
			if scan.Text() == "" || strings.HasPrefix(scan.Text(), "#") {
				continue
			}
			columns := strings.SplitN(scan.Text(), " | ", 5)
			if len(columns) != 5 {
				t.Errorf("%s:%d: five columns are needed", file, n)
				continue
			}
			lines++
			argv, env := command(columns[4])
			got := described(act.Match(list, argv, lookup(env)))
			if want := strings.Join(columns[:4], " | "); got != want {
				t.Errorf("%s:%d: %s\n got  %s\n want %s", file, n, columns[4], got, want)
			}
		}
	}
	if lines < 400 {
		t.Errorf("only %d command lines were looked at", lines)
	}
}
