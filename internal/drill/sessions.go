package drill

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// psql runs orders on the row's database as the drill, in one session, and returns what it printed. No reader uses it.
func (s *Stage) psql(orders string) string {
	plain, password, err := databaseURL(s.place.location.URL)
	s.must(err, "naming the database")
	c := exec.CommandContext(s.ctx, filepath.Join(s.server.Bin(), "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-w", plain)
	c.Env = []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "PGPASSWORD=" + password}
	c.Stdin = strings.NewReader(orders)
	out, err := c.CombinedOutput()
	s.must(err, "psql: %s", s.run.hide(clean(string(out))))
	return strings.TrimSpace(string(out))
}

// cutSessions ends every session of an executor with the database, at the server's side.
func (s *Stage) cutSessions(p *Process) {
	done := s.inject("postgres", "end sessions", fmt.Sprintf("executor %s", p.Name))
	cut := 0
	for _, line := range strings.Fields(s.psql("SELECT pid || ':' || client_port FROM pg_stat_activity WHERE datname = current_database() AND client_port IS NOT NULL;")) {
		pid, port, _ := strings.Cut(line, ":")
		owns, err := ownsPort(p.PID(), port)
		s.must(err, "finding out whose session it is")
		if !owns {
			continue
		}
		if _, err := strconv.Atoi(pid); err != nil {
			s.Fail("%q is no session", line)
		}
		s.psql("SELECT pg_terminate_backend(" + pid + ");")
		cut++
	}
	done(fmt.Sprintf("%d sessions", cut))
	if cut == 0 {
		s.Fail("executor %s has no session to cut", p.Name)
	}
}
