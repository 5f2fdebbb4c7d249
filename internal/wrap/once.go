package wrap

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/clewops/clew/internal/notice"
	"github.com/clewops/clew/internal/wrap/journal"
)

// first says whether something is said to the session for the first time, and remembers that it was. What cannot be
// remembered anywhere is said again: better twice than never.
func (r *run) first(what string) bool {
	base := journal.Base(r.session.ID)
	var files []string
	if r.dirsErr == nil {
		files = append(files, filepath.Join(JournalDir(r.dirs), base+".said"))
	}
	for _, dir := range []string{r.getenv("XDG_RUNTIME_DIR"), temp(r.getenv), "/tmp", "/dev/shm"} {
		if filepath.IsAbs(dir) {
			files = append(files, filepath.Join(dir, "clew-"+strconv.Itoa(os.Getuid())+"-"+base+".said"))
		}
	}
	line := []byte(strings.ReplaceAll(what, "\n", " ") + "\n")
	for _, f := range files {
		if b, err := readOwn(f); err == nil && bytes.Contains(append([]byte("\n"), b...), append([]byte("\n"), line...)) {
			return false
		}
	}
	for _, f := range files {
		if known, err := remember(f, line); err == nil {
			return !known
		}
	}
	return true
}

const longestSaid = 256 << 10

// readOwn reads a file that is this user's.
func readOwn(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !own(f) {
		return nil, os.ErrPermission
	}
	return io.ReadAll(io.LimitReader(f, longestSaid))
}

// remember adds a line unless it is there, under a lock, so that of two commands at once one speaks.
func remember(path string, line []byte) (known bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if !own(f) {
		return false, os.ErrPermission
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return false, err
	}
	b, err := io.ReadAll(io.LimitReader(f, longestSaid))
	if err != nil {
		return false, err
	}
	if bytes.Contains(append([]byte("\n"), b...), append([]byte("\n"), line...)) {
		return true, nil
	}
	n, err := f.Write(line)
	if err == nil && n < len(line) {
		err = errors.New("written in part")
	}
	return false, err
}

// own says whether a file is this user's: in a shared directory anybody could have put one there.
func own(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// oneLine keeps a text one line of at most the longest length, and the terminal as it is.
func oneLine(s string) string {
	s = strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t' || c == '\r':
			return ' '
		case !unicode.IsPrint(c):
			return -1
		}
		return c
	}, s)
	if r := []rune(s); len(r) > notice.LongestLine {
		return string(r[:notice.LongestLine-2]) + ".."
	}
	return s
}
