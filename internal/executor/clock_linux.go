package executor

import (
	"time"

	"golang.org/x/sys/unix"
)

// BootClock is the time since boot, suspend included: a laptop that slept between the attempt and the send must not
// send.
func BootClock() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("CLOCK_BOOTTIME is not readable: " + err.Error()) // it exists since Linux 2.6.39
	}
	return time.Duration(ts.Nano())
}
