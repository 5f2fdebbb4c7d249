package ancestry

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/clewops/clew/internal/act"
)

// process reads one process, its owner and who its parent is.
func process(pid int) (p act.Process, uid, parent int, ok bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return p, -1, 0, false
	}
	start := info.Proc.P_starttime
	p = act.Process{
		PID: pid, Start: strconv.FormatInt(start.Sec, 10) + "." + strconv.Itoa(int(start.Usec)),
		Exe: unix.ByteSliceToString(info.Proc.P_comm[:]),
	}
	if sid, err := unix.Getsid(pid); err == nil {
		p.Session = sid
	}
	p.Exe, p.Argv = arguments(pid, p.Exe)
	return p, int(info.Eproc.Ucred.Uid), int(info.Eproc.Ppid), true
}

// arguments takes a process' program and its arguments out of what the kernel keeps of them: a count, the program's path,
// padding, and the arguments.
func arguments(pid int, name string) (exe string, argv []string) {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(b) < 4 {
		return name, nil
	}
	count := int(binary.LittleEndian.Uint32(b))
	path, rest, _ := bytes.Cut(b[4:], []byte{0})
	rest = bytes.TrimLeft(rest, "\x00")
	for range count {
		arg, after, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			break
		}
		argv, rest = append(argv, string(arg)), after
	}
	return string(path), argv
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
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
}

func namespace() string { return "" }
