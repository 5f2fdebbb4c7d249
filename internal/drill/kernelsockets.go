package drill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// apiPort is where nodes listen, as the kernel's tables print it.
const apiPort = "C350"

// kernelSocket is one line of a kernel's table of TCP sockets.
type kernelSocket struct {
	localPort      string // four hexadecimal digits
	remote         string // address and port as the kernel prints them
	state          string // two hexadecimal digits
	unacknowledged uint64
}

// Those of the kernel's states that matter here.
const (
	tcpListen   = "0A"
	tcpTimeWait = "06"
)

// parseSockets reads the text of /proc/net/tcp or tcp6.
func parseSockets(text string) ([]kernelSocket, error) {
	var found []kernelSocket
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Fields(line)
		if i == 0 || len(f) == 0 {
			continue
		}
		if len(f) < 5 {
			return nil, fmt.Errorf("%q is no line of a table of sockets", clean(line))
		}
		_, port, ok := strings.Cut(f[1], ":")
		tx, _, ok2 := strings.Cut(f[4], ":")
		n, err := strconv.ParseUint(tx, 16, 64)
		if !ok || !ok2 || err != nil {
			return nil, fmt.Errorf("%q is no line of a table of sockets", clean(line))
		}
		found = append(found, kernelSocket{localPort: port, remote: f[2], state: f[3], unacknowledged: n})
	}
	return found, nil
}

// sockets are those of the network namespace that a process lives in.
func (s *Stage) sockets(pid int) []kernelSocket {
	var all []kernelSocket
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if errors.Is(err, fs.ErrNotExist) && table == "tcp6" {
			continue
		}
		s.must(err, "reading the kernel's table of sockets")
		found, err := parseSockets(string(text))
		s.must(err, "reading the kernel's table of sockets")
		all = append(all, found...)
	}
	return all
}

// senderHolds is how many bytes this host's kernel has not got acknowledged on the connection of a plan's newest attempt,
// and whether it still has its socket.
func (s *Stage) senderHolds(p *Plan) (bytes uint64, there bool) {
	address := s.Query("sender.sql", "plan", p.ID)["local"]
	port, err := strconv.ParseUint(address[strings.LastIndex(address, ":")+1:], 10, 16)
	s.must(err, "reading the attempt's address %q", address)
	for _, k := range s.sockets(os.Getpid()) {
		if k.localPort == fmt.Sprintf("%04X", port) && k.state != tcpTimeWait && strings.HasSuffix(k.remote, ":"+apiPort) {
			there = true
			bytes += k.unacknowledged
		}
	}
	return bytes, there
}

// endpointHolds is how many bytes the endpoint's kernel has not got acknowledged by the API of other nodes.
func (s *Stage) endpointHolds() (bytes uint64) {
	for _, k := range s.sockets(s.lab.Nodes()[0].PID()) {
		if k.state != tcpListen && strings.HasSuffix(k.remote, ":"+apiPort) {
			bytes += k.unacknowledged
		}
	}
	return bytes
}
