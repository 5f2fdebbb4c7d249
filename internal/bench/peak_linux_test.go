package bench

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// peakMemory is the most memory that this process had resident, in bytes; 0 where the system does not say. What a
// process uses counts from its program's start here, not from the parent's size at that moment.
func peakMemory() int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var kib int64
		if rest, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			if _, err := fmt.Sscanf(rest, "%d kB", &kib); err == nil {
				return kib << 10
			}
		}
	}
	return 0
}
