package store

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// refuseNetworkFS refuses a directory on a file system that the kernel does not call local.
func refuseNetworkFS(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("find out what file system %s is on: %w", dir, err)
	}
	if st.Flags&unix.MNT_LOCAL == 0 {
		return errNetworkFS(dir, unix.ByteSliceToString(st.Fstypename[:]))
	}
	return nil
}
