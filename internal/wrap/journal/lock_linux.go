package journal

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// hold takes one byte. The lock belongs to the open file, so that a process can ask about its own acts, too.
func hold(f *os.File, at int64) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1})
}

// alive says whether the wrapper that holds an act is there. Where the file system knows no locks its process is looked
// for; a wrapper that cannot be seen from here, in another namespace, is taken to be there until the machine starts anew.
func alive(f *os.File, h Holder, boot string) bool {
	if h.Lock != 0 {
		l := unix.Flock_t{Type: unix.F_WRLCK, Start: h.Lock, Len: 1}
		if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l); err == nil {
			return l.Type != unix.F_UNLCK
		}
	}
	return h.Boot == boot && (h.Start == "" || h.Start == StartOf(h.PID))
}

// StartOf is when a process started, in ticks since the machine did; empty if it is not there.
func StartOf(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := bytes.Cut(b[bytes.LastIndexByte(b, ')')+1:], []byte(" "))
	fields := bytes.Fields(rest)
	if len(fields) < 20 {
		return ""
	}
	return string(fields[19])
}

// syncFile brings the data to the disk, with as much of the rest as it takes to find it.
func syncFile(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
