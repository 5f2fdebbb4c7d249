package drill

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

func mountDisk(dir string, size int64) error {
	return unix.Mount("clew-drill", dir, "tmpfs", unix.MS_NODEV|unix.MS_NOSUID|unix.MS_NOEXEC, diskOptions(size))
}

func remountDisk(dir string, size int64, readOnly bool) error {
	flags := uintptr(unix.MS_REMOUNT | unix.MS_NODEV | unix.MS_NOSUID | unix.MS_NOEXEC)
	if readOnly {
		flags |= unix.MS_RDONLY
	}
	return unix.Mount("clew-drill", dir, "tmpfs", flags, diskOptions(size))
}

func unmountDisk(dir string) error { return unix.Unmount(dir, 0) }

func diskOptions(size int64) string { return fmt.Sprintf("size=%d,mode=0700", size) }

func noSpace(err error) bool { return errors.Is(err, unix.ENOSPC) }
