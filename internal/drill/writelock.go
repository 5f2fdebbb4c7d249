package drill

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// holdWriteLock has another process hold the write lock of the row's SQLite file, until the returned function is called
// or the row ends. The engine's own shell does it: it stands for any other program that has the file open.
func (s *Stage) holdWriteLock() (release func()) {
	c := exec.Command("sqlite3", "-batch", "-bail", "-cmd", ".timeout 20000", s.place.location.Path)
	c.Env = []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH")}
	in, err := c.StdinPipe()
	s.must(err, "starting a process that holds the database's write lock")
	out, err := c.StdoutPipe()
	s.must(err, "starting a process that holds the database's write lock")
	s.must(c.Start(), "starting a process that holds the database's write lock")
	done := s.inject("store", "write lock held", strconv.Itoa(c.Process.Pid))
	release = sync.OnceFunc(func() {
		_ = in.Close() // its end is the end of the shell, and of the lock
		_ = c.Wait()   // a shell that was killed held no lock any more either
		done("released")
	})
	s.undo = append(s.undo, release)
	_, err = io.WriteString(in, "BEGIN IMMEDIATE;\nSELECT 'held';\n")
	s.must(err, "taking the database's write lock")
	line, err := bufio.NewReader(out).ReadString('\n')
	s.must(err, "taking the database's write lock")
	if strings.TrimSpace(line) != "held" {
		s.Fail("the process that takes the write lock said %q", clean(line))
	}
	return release
}
