package drill

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/store"
)

// Verification is what a check of evidence found. Without Problems it is whole and says what it said.
type Verification struct {
	Files    int      `json:"files"`
	Cells    int      `json:"cells"`
	Ledgers  int      `json:"ledgers"`
	Entries  int64    `json:"entries"`
	Digest   string   `json:"digest"` // of the manifest: compare it with the one that the run showed
	Problems []string `json:"problems"`
}

func (v *Verification) problem(format string, args ...any) {
	v.Problems = append(v.Problems, clean(fmt.Sprintf(format, args...)))
}

// Verify checks the evidence in dir, contacting nothing. An error means that there is none there.
func Verify(dir string) (Verification, error) {
	v := Verification{Problems: []string{}}
	if _, err := os.Stat(filepath.Join(dir, manifestFile)); err != nil {
		return v, fmt.Errorf("%s holds no evidence of a drill: %w", dir, err)
	}
	if err := v.digests(dir); err != nil {
		return v, err
	}
	cells, err := loadCells(dir)
	if err != nil {
		v.problem("%v", err)
		return v, nil
	}
	v.Cells = len(cells)
	said, err := loadRun(dir)
	if err != nil {
		v.problem("%v", err)
		return v, nil
	}
	v.judgeAgain(cells)
	v.expected(dir, cells, said)
	v.transcripts(dir, cells)
	v.ledgers(dir, cells)
	v.conclusions(dir, cells, said)
	return v, nil
}

// digests compares every file with the manifest, both ways.
func (v *Verification) digests(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	v.Digest = hex.EncodeToString(sum[:])
	listed := map[string]string{}
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 3 || listed[f[2]] != "" {
			v.problem("%s has a line that is none: %.80s", manifestFile, line)
			continue
		}
		listed[f[2]] = f[0] + " " + f[1]
	}
	err = eachFile(dir, func(name string, content []byte) error {
		if name == manifestFile {
			return nil
		}
		v.Files++
		sum := sha256.Sum256(content)
		want, there := listed[name]
		switch delete(listed, name); {
		case !there:
			v.problem("%s is not in the manifest", name)
		case want != fmt.Sprintf("%s %d", hex.EncodeToString(sum[:]), len(content)):
			v.problem("%s was changed", name)
		}
		return nil
	})
	for name := range listed {
		v.problem("%s is gone", name)
	}
	slices.Sort(v.Problems)
	return err
}

func loadCells(dir string) ([]Cell, error) {
	f, err := os.Open(filepath.Join(dir, cellsFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readCells(f)
}

// judgeAgain judges every cell by the row that this program has.
func (v *Verification) judgeAgain(cells []Cell) {
	for i, c := range cells {
		row, ok := Lookup(c.Row)
		if !ok {
			v.problem("%s: this program has no such row", c.Key())
			continue
		}
		if c.Expectation != row.expectOn(c.Net) {
			v.problem("%s: its expectation is not the row's", c.Key())
		}
		if slices.ContainsFunc(cells[:i], func(d Cell) bool { return d.Key() == c.Key() }) {
			v.problem("%s: there are two cells of it", c.Key())
		}
		switch c.Verdict {
		case Skipped, Errored:
			if c.Reason == "" {
				v.problem("%s: it is %s and does not say why", c.Key(), c.Verdict)
			}
			continue
		case OK, Mismatch:
		default:
			v.problem("%s: %q is no verdict", c.Key(), c.Verdict)
			continue
		}
		again := c
		again.Expectation = row.expectOn(c.Net)
		again.judge()
		if again.Verdict != c.Verdict || again.Reason != c.Reason {
			v.problem("%s: it says %s, and its readings say %s", c.Key(), c.Verdict, again.Verdict)
		}
	}
}

// expected compares the cells with what was announced before the run.
func (v *Verification) expected(dir string, cells []Cell, said runSaid) {
	b, err := os.ReadFile(filepath.Join(dir, expectationsFile))
	if err != nil {
		v.problem("%v", err)
		return
	}
	var announced []string
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 || f[0] == "row" {
			continue
		}
		key := cellName(f[0], config.Engine(f[1]), lab.LinkMode(f[2]))
		announced = append(announced, key)
		i := slices.IndexFunc(cells, func(c Cell) bool { return c.Key() == key })
		switch {
		case i < 0 && !said.missing(wasInterrupted):
			v.problem("%s was announced, and there is no cell of it", key)
		case i >= 0 && cells[i].Expectation != f[3]:
			v.problem("%s: its expectation is not the one that was announced", key)
		}
	}
	for _, c := range cells {
		if !slices.Contains(announced, c.Key()) {
			v.problem("%s was never announced", c.Key())
		}
	}
}

// transcripts compares the cells' readings with the lines that the readers wrote when they read.
func (v *Verification) transcripts(dir string, cells []Cell) {
	read := map[string]Readings{}
	err := eachFile(filepath.Join(dir, transcriptsDir), func(name string, content []byte) error {
		for line := range strings.Lines(string(content)) {
			_, text, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
			text, ok := strings.CutPrefix(text, "READING  ")
			if f := strings.SplitN(text, " ", 4); ok && len(f) == 4 {
				name, value, _ := strings.Cut(f[3], "=")
				key := strings.Join(f[:3], " ")
				read[key] = append(read[key], Reading{name, value})
			}
		}
		return nil
	})
	if err != nil {
		v.problem("the transcripts: %v", err)
	}
	for _, c := range cells {
		if c.Readings.String() != read[c.Key()].String() {
			v.problem("%s: its readings are not those of the transcript", c.Key())
		}
		delete(read, c.Key())
	}
	for key := range read {
		v.problem("%s: the transcript has readings of it, and there is no cell", key)
	}
}

// ledgers replays every exported ledger. One of a row with all its guards has to hold whole; a control's chains have to
// hold, and what its missing guards let through breaks invariants by intention.
func (v *Verification) ledgers(dir string, cells []Cell) {
	for _, c := range cells {
		name := filepath.Join(ledgersDir, c.Row+"."+string(c.Store)+"."+string(c.Net)+".jsonl")
		f, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) && (c.Verdict == Skipped || c.Verdict == Errored) {
			continue
		}
		if err != nil {
			v.problem("%v", err)
			continue
		}
		report, err := store.VerifyBundle(bufio.NewReader(f), store.VerifyOptions{})
		_ = f.Close() // it was only read
		if err != nil {
			v.problem("%s: %v", name, err)
			continue
		}
		v.Ledgers++
		v.Entries += report.Entries
		for _, p := range report.Problems {
			if !c.Control || p.Invariant == 0 {
				v.problem("%s: %s", name, p)
			}
		}
	}
}

// conclusions checks what run.txt and the leak scan conclude.
func (v *Verification) conclusions(dir string, cells []Cell, said runSaid) {
	if said.format != "clew drill 1" {
		v.problem("%s has format %q", runFile, said.format)
	}
	for _, m := range missing(cells) {
		if !said.missing(m) {
			v.problem("%s does not say: %s", runFile, m)
		}
	}
	if said.evidence != (len(said.miss) == 0) {
		v.problem("%s says evidence, and that something is missing, or neither", runFile)
	}
	lines, err := readLeaks(filepath.Join(dir, leakFile))
	if err != nil {
		v.problem("%v", err)
		return
	}
	for _, p := range judgeLeaks(lines) {
		v.problem("leak scan: %s", p)
	}
}

// runSaid is what verification needs of run.txt.
type runSaid struct {
	format   string
	miss     []string
	evidence bool
	lines    map[string]string // the first line of each name
}

func (r runSaid) first(name string) string { return r.lines[name] }

func (r runSaid) missing(text string) bool { return slices.Contains(r.miss, clean(text)) }

func loadRun(dir string) (runSaid, error) {
	r := runSaid{lines: map[string]string{}}
	b, err := os.ReadFile(filepath.Join(dir, runFile))
	if err != nil {
		return r, err
	}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if _, again := r.lines[name]; !again {
			r.lines[name] = value
		}
		switch name {
		case "format":
			r.format = value
		case "missing":
			r.miss = append(r.miss, value)
		case "evidence":
			r.evidence = value == "yes"
		}
	}
	return r, nil
}

// Load reads a run's evidence for a report. It checks nothing: see Verify.
func Load(dir string) (Result, error) {
	r := Result{Out: dir}
	cells, err := loadCells(dir)
	if err != nil {
		return r, fmt.Errorf("%s holds no evidence of a drill: %w", dir, err)
	}
	said, err := loadRun(dir)
	if err != nil {
		return r, err
	}
	lines, err := readLeaks(filepath.Join(dir, leakFile))
	if err != nil {
		return r, err
	}
	b, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return r, err
	}
	sum := sha256.Sum256(b)
	r.Cells, r.Missing, r.Leaks, r.Digest = cells, said.miss, judgeLeaks(lines), hex.EncodeToString(sum[:])
	r.Interrupted = said.missing(wasInterrupted)
	return r, nil
}
