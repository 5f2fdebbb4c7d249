package node

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// peerPID returns the process at the other end of a unix connection.
func peerPID(conn net.Conn) (int, error) {
	uc, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, errors.New("not a unix connection")
	}

	raw, err := uc.SyscallConn()
	if err != nil {
		return 0, err
	}

	var (
		cred    *unix.Ucred
		credErr error
	)

	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}

	if credErr != nil {
		return 0, credErr
	}

	return int(cred.Pid), nil
}
