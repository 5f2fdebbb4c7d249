package ancestry

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/clewops/clew/internal/act"
)

// process reads one process, its owner (-1: not known) and who its parent is.
func process(pid int) (p act.Process, uid, parent int, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
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
	if b, err := os.ReadFile(dir + "/cmdline"); err == nil && len(b) > 0 {
		p.Argv = strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	}
	uid = -1
	var st syscall.Stat_t
	if syscall.Stat(dir, &st) == nil {
		uid = int(st.Uid)
	}
	return p, uid, parent, true
}

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
