package sim

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/clewops/clew/internal/dispatch"
)

//go:embed testdata/histories
var histories embed.FS

// Scripted is one written history and what it must come to.
type Scripted struct {
	Name    string // file and line
	Without dispatch.Without
	script  string
	want    string
}

// ScriptedHistories are all that are written under testdata/histories, in order.
func ScriptedHistories() ([]Scripted, error) {
	var all []Scripted
	err := fs.WalkDir(histories, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := histories.ReadFile(name)
		if err != nil {
			return err
		}
		found, err := parseScripts(d.Name(), string(b))
		all = append(all, found...)
		return err
	})
	return all, err
}

// parseScripts reads the notation of datadriven files: a directive, its input up to a line of four dashes, and the
// expected output up to an empty line.
func parseScripts(file, text string) ([]Scripted, error) {
	var all []Scripted
	var now *Scripted
	inWant := false
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		switch {
		case now == nil && (line == "" || strings.HasPrefix(line, "#")):
		case now == nil:
			args, ok := strings.CutPrefix(line, "history")
			if !ok {
				return nil, fmt.Errorf("%s:%d: there is no %q", file, n, line)
			}
			list, _ := strings.CutPrefix(strings.TrimSpace(args), "without=")
			without, err := dispatch.ParseWithout(list)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, n, err)
			}
			now, inWant = &Scripted{Name: fmt.Sprintf("%s:%d", file, n), Without: without}, false
		case !inWant && line == "----":
			inWant = true
		case !inWant:
			now.script += line + "\n"
		case line == "":
			all, now = append(all, *now), nil
		default:
			now.want += line + "\n"
		}
	}
	if now != nil {
		if !inWant {
			return nil, fmt.Errorf("%s: %s has no expected outcome", file, now.Name)
		}
		all = append(all, *now)
	}
	return all, nil
}

// Run runs the history at a place that lacks the same guards. It says what was not as written, "" when all was: an outcome
// that differs, an invariant that did not hold with every guard in place, or none that broke without one.
func (h Scripted) Run(p *Place) (wrong string, err error) {
	s, err := New(p)
	if err != nil {
		return "", err
	}
	var got strings.Builder
	for line := range strings.Lines(h.script) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fmt.Fprintf(&got, "%s: %s\n", line, s.Do(line))
		if len(s.Broken()) > 0 {
			break
		}
	}
	broken := s.Broken()
	for _, b := range broken {
		fmt.Fprintf(&got, "BROKEN: %s\n", b.Text)
	}
	if err := s.Close(); err != nil {
		return "", err
	}
	switch {
	case len(broken) > 0 && len(h.Without) == 0:
		return broken[0].Text, nil
	case len(broken) == 0 && len(h.Without) > 0:
		return "nothing broke without " + fmt.Sprint(h.Without), nil
	case got.String() != h.want:
		return "it came to something else than is written", nil
	}
	return "", nil
}
