package drill

import (
	"cmp"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/lab/pgserver"
)

// Result is what a run found, or what its evidence says.
type Result struct {
	Out     string   `json:"out"`
	Cells   []Cell   `json:"cells"`
	Missing []string `json:"missing,omitempty"` // why the run is no evidence of the whole contract
	Leaks   []string `json:"leaks,omitempty"`   // what the search for secrets found wrong
	Digest  string   `json:"digest"`            // of the manifest

	Interrupted bool `json:"interrupted,omitempty"`
}

// Count is how many cells have a verdict.
func (r Result) Count(v Verdict) (n int) {
	for _, c := range r.Cells {
		if c.Verdict == v {
			n++
		}
	}
	return n
}

// Evidence says whether the run counts as evidence.
func (r Result) Evidence() bool { return len(r.Missing) == 0 && len(r.Leaks) == 0 }

func sortCells(cells []Cell) {
	slices.SortFunc(cells, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Store, b.Store), cmp.Compare(a.Net, b.Net))
	})
}

// partialRun begins what missing says of rows that were left out.
const partialRun = "a partial run"

// missing lists what keeps cells from being evidence: rows that were left out, on a store that they are for, cells that
// did not run or could not be judged, controls that did not show their failure.
func missing(cells []Cell) []string {
	var out, left []string
	for _, row := range Rows() {
		for _, store := range row.Stores {
			if !slices.ContainsFunc(cells, func(c Cell) bool { return c.Row == row.ID && c.Store == store }) {
				left = append(left, row.ID+" on "+string(store))
			}
		}
	}
	if len(left) > 0 {
		out = append(out, fmt.Sprintf("%s: %d were left out: %s", partialRun, len(left), strings.Join(left, ", ")))
	}
	for _, c := range cells {
		switch {
		case c.Verdict == Skipped:
			out = append(out, c.Key()+" was skipped: "+c.Reason)
		case c.Verdict == Errored:
			out = append(out, c.Key()+" could not be judged: "+c.Reason)
		case c.Control && c.Verdict != OK:
			out = append(out, c.Key()+" is a control and did not show its failure")
		}
	}
	return out
}

func join[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	return strings.Join(words, ",")
}

// isolation is what the transactions of a store run under.
func isolation(e config.Engine) string {
	if e == config.SQLite {
		return "BEGIN IMMEDIATE, one writer at a time, WAL, synchronous FULL"
	}
	return "READ COMMITTED set for each transaction, row locks and advisory locks"
}

// sources says what the program was built from: the commit, and what was not committed.
func sources(exe string) [][2]string {
	commit, dirty := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				commit = s.Value
			case "vcs.modified":
				dirty = s.Value
			}
		}
	}
	if commit != "unknown" {
		return [][2]string{{"commit", commit}, {"uncommitted inputs", dirty}}
	}
	// The build did not stamp it. A program inside the work tree that it was built from can be asked about.
	dir := filepath.Dir(exe)
	if b, err := exec.Command("git", "-C", dir, "rev-parse", "HEAD").Output(); err == nil {
		commit = strings.TrimSpace(string(b)) + " (of the work tree around the program)"
	}
	if b, err := exec.Command("git", "-C", dir, "status", "--porcelain", "--untracked-files=all").Output(); err == nil {
		if dirty = strings.Join(strings.Split(strings.TrimSpace(string(b)), "\n"), ", "); dirty == "" {
			dirty = "none"
		}
	}
	return [][2]string{{"commit", commit}, {"uncommitted inputs", dirty}}
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// tools are the readers' programs, with their versions.
func tools(pg *pgserver.Server) []string {
	var out []string
	ask := func(name string, args ...string) {
		b, err := exec.Command(name, args...).Output()
		if err == nil {
			out = append(out, filepath.Base(name)+" "+strings.TrimSpace(string(b)))
		}
	}
	ask("sqlite3", "--version")
	if pg != nil {
		ask(filepath.Join(pg.Bin(), "psql"), "--version")
		ask(filepath.Join(pg.Bin(), "postgres"), "--version")
	}
	return out
}
