//go:build !linux

package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// hold takes one byte. The lock belongs to the process.
func hold(f *os.File, at int64) error {
	return unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1})
}

// alive says whether the wrapper that holds an act is there.
func alive(f *os.File, h Holder, boot string) bool {
	if h.Lock != 0 {
		l := unix.Flock_t{Type: unix.F_WRLCK, Start: h.Lock, Len: 1}
		if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l); err == nil {
			return l.Type != unix.F_UNLCK
		}
	}
	return h.Boot == boot
}

// StartOf is not known here.
func StartOf(int) string { return "" }

func syncFile(f *os.File) error { return f.Sync() }
