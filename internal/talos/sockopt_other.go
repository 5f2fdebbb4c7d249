//go:build !linux

package talos

import (
	"syscall"
	"time"
)

// controlUserTimeout does nothing: TCP_USER_TIMEOUT is Linux'.
func controlUserTimeout(time.Duration) func(network, address string, c syscall.RawConn) error {
	return nil
}
