package node

import (
	"fmt"
	"os"
	"strings"
)

// socketTable returns the lines of one table of this process's network namespace, without the heading. A table of a
// protocol that the kernel lacks is empty.
func socketTable(name string) ([]string, error) {
	b, err := os.ReadFile("/proc/self/net/" + name)
	if os.IsNotExist(err) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}

	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")

	return lines[1:], nil
}

// ownInodes are the sockets that this process holds.
func ownInodes() map[uint64]bool {
	own := map[uint64]bool{}

	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return own
	}

	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil {
			continue // the descriptor was closed meanwhile
		}

		var inode uint64
		if _, err := fmt.Sscanf(target, "socket:[%d]", &inode); err == nil {
			own[inode] = true
		}
	}

	return own
}
