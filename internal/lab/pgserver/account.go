package pgserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the unprivileged user that the server runs as when this process is root, because PostgreSQL refuses to
// run as root. A nil account is this process's own user.
type account struct{ uid, gid uint32 }

// serverAccount chooses the user: PostgreSQL's own where there is one.
func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil && uid != 0 {
			return &account{uint32(uid), uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody")
}

// apply makes a command run as the account, in a session of its own: an interrupt typed at the terminal is for the
// program that uses the server, not for the server.
func (a *account) apply(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if a != nil {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
}

// own gives a path to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

// makeDir makes the server's directory, in base or else in the first temporary directory that the account can reach:
// root's own TMPDIR may be closed to everybody else.
func makeDir(base string, a *account) (string, error) {
	bases := []string{base}
	if base == "" {
		bases = []string{os.TempDir(), "/tmp", "/var/tmp"}
	}
	var reasons error
	for _, b := range bases {
		if err := a.canReach(b); err != nil {
			reasons = errors.Join(reasons, err)
			continue
		}
		dir, err := os.MkdirTemp(b, "clew-pg-")
		if err != nil {
			reasons = errors.Join(reasons, err)
			continue
		}
		if err := a.own(dir); err != nil {
			return "", errors.Join(err, os.Remove(dir))
		}
		return dir, nil
	}
	return "", fmt.Errorf("no directory for a PostgreSQL server: %w", reasons)
}

// canReach says whether the account may pass through path and all its parents.
func (a *account) canReach(path string) error {
	if a == nil {
		return nil
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	for ; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !a.mayPass(info) {
			return fmt.Errorf("%s is closed to the user that PostgreSQL runs as (uid %d)", path, a.uid)
		}
		if path == filepath.Dir(path) {
			return nil
		}
	}
}

// mayPass checks the search permission of one directory.
func (a *account) mayPass(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	mode := info.Mode().Perm()
	switch {
	case ok && st.Uid == a.uid:
		return mode&0o100 != 0
	case ok && st.Gid == a.gid:
		return mode&0o010 != 0
	}
	return mode&0o001 != 0
}
