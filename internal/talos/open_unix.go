//go:build unix

package talos

import "golang.org/x/sys/unix"

// openWithoutWaiting makes opening a FIFO return at once instead of waiting for a writer.
const openWithoutWaiting = unix.O_NONBLOCK
