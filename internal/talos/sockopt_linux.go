package talos

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// controlUserTimeout bounds how long sent bytes may stay unacknowledged before the kernel gives the connection up. The
// bound is the kernel's, so it also holds for a process that died meanwhile.
func controlUserTimeout(d time.Duration) func(network, address string, c syscall.RawConn) error {
	if d <= 0 {
		return nil
	}
	return func(_, _ string, c syscall.RawConn) error {
		var set error
		err := c.Control(func(fd uintptr) {
			ms := max(int(d.Milliseconds()), 1)
			set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, ms)
		})
		if err != nil {
			return err
		}
		return set
	}
}
