package talos

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// socketTables says why this host's sockets cannot be seen, "" where they can.
const socketTables = ""

// localSockets reads the TCP sockets of this network namespace: that of a thread which runs goroutines, because there
// connections are made. The process' first thread, which /proc/self stands for, may have been left in another one. The
// kernel hands the table out in pieces, so one reading may miss a socket that is there throughout; callers read twice.
func localSockets() ([]Socket, error) {
	sockets, err := readTable("/proc/thread-self/net/tcp")
	if err != nil {
		return nil, err
	}
	six, err := readTable("/proc/thread-self/net/tcp6")
	if errors.Is(err, fs.ErrNotExist) {
		return sockets, nil // a kernel without IPv6 has no such table, and no socket that would be in it
	}
	return append(sockets, six...), err
}

func readTable(path string) ([]Socket, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading this host's socket table: %w", err)
	}
	defer func() { _ = f.Close() }()
	var sockets []Socket
	lines := bufio.NewScanner(f)
	for header := true; lines.Scan(); header = false {
		if header {
			continue
		}
		s, err := parseTableLine(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("reading this host's socket table %s: %w", path, err)
		}
		sockets = append(sockets, s)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading this host's socket table: %w", err)
	}
	return sockets, nil
}

// parseTableLine reads "sl local remote st tx:rx ...", as proc_pid_net(5) describes it.
func parseTableLine(line string) (Socket, error) {
	f := strings.Fields(line)
	if len(f) < 5 {
		return Socket{}, errors.New("a line is too short")
	}
	var s Socket
	var err error
	if s.Local, err = parseTableAddr(f[1]); err != nil {
		return Socket{}, err
	}
	if s.Remote, err = parseTableAddr(f[2]); err != nil {
		return Socket{}, err
	}
	state, err := strconv.ParseUint(f[3], 16, 8)
	if err != nil {
		return Socket{}, errors.New("a state is not a number")
	}
	s.State = stateName(uint8(state))
	tx, rx, _ := strings.Cut(f[4], ":")
	if s.Tx, err = strconv.ParseUint(tx, 16, 64); err != nil {
		return Socket{}, errors.New("a transmit queue is not a number")
	}
	if s.Rx, err = strconv.ParseUint(rx, 16, 64); err != nil {
		return Socket{}, errors.New("a receive queue is not a number")
	}
	return s, nil
}

// parseTableAddr reads an address that the kernel printed as 32-bit words in the host's byte order.
func parseTableAddr(text string) (netip.AddrPort, error) {
	wrong := errors.New("an address is not as expected")
	ip, port, ok := strings.Cut(text, ":")
	b, err := hex.DecodeString(ip)
	if !ok || err != nil {
		return netip.AddrPort{}, wrong
	}
	for i := 0; i+4 <= len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	a, ok := netip.AddrFromSlice(b)
	if !ok {
		return netip.AddrPort{}, wrong
	}
	p, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}, wrong
	}
	return unmapped(netip.AddrPortFrom(a, uint16(p))), nil
}
