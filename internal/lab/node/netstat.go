package node

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Netstat answers the kernel's own socket tables. Only the node's own sockets count: those of its network namespace,
// or, where nodes share one, those bound to its addresses. No protocol is on by default, and without hostnetwork
// nothing is the node's.
func (m *machined) Netstat(_ context.Context, req *machine.NetstatRequest) (*machine.NetstatResponse, error) {
	answer := &machine.Netstat{}

	if req.GetNetns().GetHostnetwork() {
		for _, table := range []struct {
			name   string
			wanted bool
		}{
			{"tcp", req.GetL4Proto().GetTcp()},
			{"tcp6", req.GetL4Proto().GetTcp6()},
			{"udp", req.GetL4Proto().GetUdp()},
			{"udp6", req.GetL4Proto().GetUdp6()},
			{"udplite", req.GetL4Proto().GetUdplite()},
			{"udplite6", req.GetL4Proto().GetUdplite6()},
			{"raw", req.GetL4Proto().GetRaw()},
			{"raw6", req.GetL4Proto().GetRaw6()},
		} {
			if !table.wanted {
				continue
			}

			records, err := m.sockets(table.name)
			if errors.Is(err, errors.ErrUnsupported) {
				return nil, status.Error(codes.Unimplemented, err.Error())
			}

			if err != nil {
				return nil, err
			}

			answer.Connectrecord = append(answer.Connectrecord, selectSockets(records, req)...)
		}
	}

	return &machine.NetstatResponse{Messages: []*machine.Netstat{answer}}, nil
}

// sockets reads one table and keeps the node's own.
func (m *machined) sockets(table string) ([]*machine.ConnectRecord, error) {
	lines, err := socketTable(table)
	if err != nil {
		return nil, err
	}

	// Behind links the public address is the link's: the sockets on it are not the node's, as they would not be where
	// something terminates TCP on the way to a real node.
	own := m.boot.address()
	if m.boot.settings.LinkSocket != "" {
		own = m.boot.settings.Listen
	}

	var records []*machine.ConnectRecord

	for _, line := range lines {
		r, err := parseSocket(table, line)
		if err != nil {
			return nil, fmt.Errorf("reading the socket table %s: %w", table, err)
		}

		if m.settings.Interface != "" || r.GetLocalip() == own {
			records = append(records, r)
		}
	}

	return records, nil
}

func selectSockets(records []*machine.ConnectRecord, req *machine.NetstatRequest) []*machine.ConnectRecord {
	var out []*machine.ConnectRecord

	owners := map[uint64]bool{}
	if req.GetFeature().GetPid() {
		owners = ownInodes()
	}

	for _, r := range records {
		connected := r.GetRemoteport() != 0 && !net.ParseIP(r.GetRemoteip()).IsUnspecified()

		switch req.GetFilter() {
		case machine.NetstatRequest_CONNECTED:
			if !connected {
				continue
			}
		case machine.NetstatRequest_LISTENING:
			if connected {
				continue
			}
		case machine.NetstatRequest_ALL:
		}

		r.Process = &machine.ConnectRecord_Process{}
		if owners[r.GetInode()] {
			r.Process = &machine.ConnectRecord_Process{Pid: uint32(os.Getpid()), Name: "apid"}
		}

		out = append(out, r)
	}

	return out
}

// parseSocket reads one line of /proc/net/tcp and its like:
//
//	sl local rem st tx:rx tr:when retrnsmt uid timeout inode ref pointer ...
//
// Addresses, state, queues, timer and retransmissions are hexadecimal, the rest is decimal but for the pointer.
func parseSocket(table, line string) (*machine.ConnectRecord, error) {
	f := strings.Fields(line)
	if len(f) < 12 {
		return nil, fmt.Errorf("%d fields in %q", len(f), line)
	}

	r := &machine.ConnectRecord{L4Proto: table}

	var errs []error

	number := func(s string, base int) uint64 {
		n, err := strconv.ParseUint(s, base, 64)
		errs = append(errs, err)

		return n
	}
	pair := func(s string) (uint64, uint64) {
		a, b, _ := strings.Cut(s, ":")

		return number(a, 16), number(b, 16)
	}

	var err error

	r.Localip, r.Localport, err = parseEndpoint(f[1])
	errs = append(errs, err)
	r.Remoteip, r.Remoteport, err = parseEndpoint(f[2])
	errs = append(errs, err)
	r.State = machine.ConnectRecord_State(number(f[3], 16))
	r.Txqueue, r.Rxqueue = pair(f[4])

	timer, when := pair(f[5])
	r.Tr, r.Timerwhen = machine.ConnectRecord_TimerActive(timer), when
	r.Retrnsmt = number(f[6], 16)
	r.Uid = uint32(number(f[7], 10))
	r.Timeout = number(f[8], 10)
	r.Inode = number(f[9], 10)
	r.Ref = number(f[10], 10)
	r.Pointer = number(f[11], 16)

	return r, errors.Join(errs...)
}

// parseEndpoint reads ADDRESS:PORT; the address is a row of 32-bit words, each in the machine's byte order (little
// endian on everything that Clew is built for).
func parseEndpoint(s string) (string, uint32, error) {
	addr, port, ok := strings.Cut(s, ":")
	if !ok {
		return "", 0, fmt.Errorf("no port in %q", s)
	}

	raw, err := hex.DecodeString(addr)
	if err != nil || len(raw)%4 != 0 {
		return "", 0, fmt.Errorf("no address in %q", s)
	}

	for i := 0; i < len(raw); i += 4 {
		raw[i], raw[i+1], raw[i+2], raw[i+3] = raw[i+3], raw[i+2], raw[i+1], raw[i]
	}

	p, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return "", 0, err
	}

	return net.IP(raw).String(), uint32(p), nil
}
