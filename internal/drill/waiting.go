package drill

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/clewops/clew/internal/config"
)

// Waiting is how many sessions wait for a lock of the row's store now. PostgreSQL's own view of locks says it there; on
// SQLite, where the lock is a file's, it is the kernel's.
func (s *Stage) Waiting() int {
	if s.Store == config.Postgres {
		n, err := strconv.Atoi(s.Query("waiting.sql")["waiting"])
		s.must(err, "reading the lock view")
		return n
	}
	waiting := 0
	for _, l := range s.fileLocks() {
		if l.waits {
			waiting++
		}
	}
	return waiting
}

// HeldBy says whether it is p that holds what is waited for: on PostgreSQL the session that blocks the others comes from a
// port of p's, on SQLite p has the file's lock.
func (s *Stage) HeldBy(p *Process) bool {
	if s.Store == config.Postgres {
		port := s.Query("blocker.sql")["port"]
		owns, err := ownsPort(p.PID(), port)
		s.must(err, "finding out whose session blocks")
		return owns
	}
	for _, l := range s.fileLocks() {
		if !l.waits && l.pid == p.PID() {
			return true
		}
	}
	return false
}

// ownsPort says whether the process has a TCP socket with this local port.
func ownsPort(pid int, port string) (bool, error) {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return false, fmt.Errorf("%q is no port", port)
	}
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	if err != nil {
		return false, err
	}
	inode := ""
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) > 9 && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", number)) && f[9] != "0" {
			inode = f[9]
		}
	}
	if inode == "" {
		return false, nil
	}
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	open, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, d := range open {
		// A descriptor that was closed meanwhile is not the one.
		if to, err := os.Readlink(filepath.Join(dir, d.Name())); err == nil && to == "socket:["+inode+"]" {
			return true, nil
		}
	}
	return false, nil
}

// fileLock is one line of the kernel's table of file locks.
type fileLock struct {
	pid   int
	waits bool
}

// fileLocks are those of the file by which writers of the SQLite store queue.
func (s *Stage) fileLocks() []fileLock {
	found, err := s.readLocks()
	s.must(err, "reading the kernel's locks")
	return found
}

func (s *Stage) readLocks() ([]fileLock, error) {
	return s.readLocksOf(s.place.location.Path + ".lock")
}

func (s *Stage) readLocksOf(path string) ([]fileLock, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, errors.New("the file has no inode")
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return nil, fmt.Errorf("only Linux shows who waits for a file's lock: %w", err)
	}
	defer f.Close()
	return parseLocks(bufio.NewScanner(f), st.Ino)
}

// parseLocks reads lines such as "3: FLOCK  ADVISORY  WRITE 4711 08:01:123 0 EOF" and "3: -> FLOCK ...".
func parseLocks(lines *bufio.Scanner, inode uint64) ([]fileLock, error) {
	var found []fileLock
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 2 {
			continue
		}
		l := fileLock{waits: f[1] == "->"}
		if l.waits {
			f = f[1:]
		}
		if len(f) < 6 || f[1] != "FLOCK" {
			continue
		}
		where := strings.Split(f[5], ":")
		if where[len(where)-1] != strconv.FormatUint(inode, 10) {
			continue
		}
		pid, err := strconv.Atoi(f[4])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), fs.ErrInvalid)
		}
		l.pid = pid
		found = append(found, l)
	}
	return found, lines.Err()
}
