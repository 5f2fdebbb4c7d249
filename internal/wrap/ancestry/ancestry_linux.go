package ancestry

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/clewops/clew/internal/act"
)

// process reads one process, its owner (-1: not known) and who its parent is.
func process(pid int) (p act.Process, uid, parent int, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := read(dir + "/stat")
	if err != nil {
		return p, -1, 0, false
	}
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return p, -1, 0, false
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 20 {
		return p, -1, 0, false
	}
	p = act.Process{PID: pid, Start: fields[19], Exe: string(stat[open+1 : end])}
	parent, _ = strconv.Atoi(fields[1])
	p.Session, _ = strconv.Atoi(fields[3])
	if exe, err := os.Readlink(dir + "/exe"); err == nil {
		p.Exe = exe
	}
	if b, err := read(dir + "/cmdline"); err == nil && len(b) > 0 {
		p.Argv = strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	}
	uid = -1
	var st syscall.Stat_t
	if syscall.Stat(dir, &st) == nil {
		uid = int(st.Uid)
	}
	return p, uid, parent, true
}

// read reads a file of the kernel's without the runtime's care for files that may block: there are many to read.
func read(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 4096)
	for len(b) < longestRead {
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || n == 0:
			return b, err
		}
		if b = b[:len(b)+n]; len(b) == cap(b) {
			b = slices.Grow(b, len(b))
		}
	}
	return b, nil
}

// longestRead is as much as is looked at of a command line.
const longestRead = 4 << 20

func session() int {
	sid, err := unix.Getsid(0)
	if err != nil {
		return 0
	}
	return sid
}

// BootID names the machine's running since it was started last.
func BootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(b))
}

// namespace names where processes are counted.
func namespace() string {
	name, _ := os.Readlink("/proc/self/ns/pid")
	return filepath.Base(name)
}
