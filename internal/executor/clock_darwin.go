package executor

import (
	"time"

	"golang.org/x/sys/unix"
)

// BootClock is the time since boot, suspend included: on this system CLOCK_MONOTONIC counts it.
func BootClock() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("CLOCK_MONOTONIC is not readable: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
