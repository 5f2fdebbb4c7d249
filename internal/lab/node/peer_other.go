//go:build !linux

package node

import (
	"errors"
	"net"
)

// peerPID is not known here; a lab node runs on Linux only.
func peerPID(net.Conn) (int, error) {
	return 0, errors.New("the peer of a unix connection is known on Linux only")
}
