package bench

import "syscall"

// peakMemory is the most memory that this process had resident, in bytes; 0 where the system does not say.
func peakMemory() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Maxrss
}
