package drill

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/clewops/clew/internal/config"
)

// stands says whether the executor stands at a gate.
func (p *Process) stands(g Gate) bool {
	there, err := p.gates.has(g, "reached")
	p.s.must(err, "looking at %s", p.Name)
	return there
}

// hasEnded says whether the process is gone.
func (p *Process) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Race waits until each of several executors either stands at a gate or has ended, and tells them apart.
func (s *Stage) Race(g Gate, all ...*Process) (standing, ended []*Process) {
	s.Until(fmt.Sprintf("each stands at %s or has ended", g), func() bool {
		standing, ended = nil, nil
		for _, p := range all {
			switch {
			case p.hasEnded():
				ended = append(ended, p)
			case p.stands(g):
				standing = append(standing, p)
			}
		}
		return len(standing)+len(ended) == len(all)
	})
	for _, p := range standing {
		s.Note("%s stands at %s", p.Name, g)
	}
	return standing, ended
}

// statuses are how executors ended, as one reading: all the same, or a list.
func statuses(all []*Process) string {
	var words []string
	for _, p := range all {
		words = append(words, p.status())
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// Hold has a process of its own take what every transaction on a machine waits for, and returns what lets go: on
// PostgreSQL the machine's row of scopes, on SQLite the file by whose lock writers queue.
func (s *Stage) Hold(m *Machine) (release func()) {
	if s.Store == config.SQLite {
		return s.holder("the writers' lock", exec.Command("flock", "--exclusive", s.place.location.Path+".lock", "sh", "-c", "echo held; cat >/dev/null"), "")
	}
	return s.holdRow(fmt.Sprintf("SELECT 1 FROM scopes WHERE kind = 'machine' AND id = '%s' FOR UPDATE", m.ID))
}

// holdRow has a session of psql lock what a statement selects for update, until it is released.
func (s *Stage) holdRow(selects string) (release func()) {
	plain, password, err := databaseURL(s.place.location.URL)
	s.must(err, "naming the database")
	c := exec.Command(filepath.Join(s.server.Bin(), "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-w", plain)
	c.Env = []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "PGPASSWORD=" + password}
	return s.holder("a row", c, "BEGIN;\n"+selects+";\nSELECT 'held';\n")
}

// holder starts a process that holds something for as long as its standard input is open, and waits until it says so.
func (s *Stage) holder(what string, c *exec.Cmd, orders string) (release func()) {
	var said lockedBuffer
	c.Stdout, c.Stderr = &said, &said
	in, err := c.StdinPipe()
	s.must(err, "holding %s", what)
	done := s.inject("database", "hold", what)
	s.must(c.Start(), "holding %s", what)
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	var let bool
	release = func() {
		if let {
			return
		}
		let = true
		_ = in.Close() // it ends with its input
		err := <-ended
		done("released")
		s.must(err, "the process that held %s: %s", what, s.run.hide(said.String()))
	}
	s.undo = append(s.undo, release)
	_, err = in.Write([]byte(orders))
	s.must(err, "holding %s", what)
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	s.until(ctx, what+" is held", func() bool { return strings.Contains(said.String(), "held") })
	return release
}

// Queued is how many executors wait to write. On SQLite the first of them waits for the lock and those behind it for the
// turnstile, a file lock of its own.
func (s *Stage) Queued() int {
	n := s.Waiting()
	if s.Store == config.SQLite {
		locks, err := s.readLocksOf(s.place.location.Path + ".lock-next")
		s.must(err, "reading the kernel's locks")
		for _, l := range locks {
			if l.waits {
				n++
			}
		}
	}
	return n
}
