package talos_test

import (
	"bufio"
	"encoding/hex"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/talos"
)

// A sender that is killed while its request is queued leaves nothing behind that the kernel would go on delivering.
func TestLabKilledSender(t *testing.T) {
	r := newRig(t, lab.LinksNetns)
	local, link := r.killSender(t, "guarded")
	if n := queued(t, local); n >= 0 {
		t.Fatalf("the kernel still holds a socket with %d bytes of a dead process", n)
	}
	heal(t, link)
	read(t, r.dial(t, r.direct(), talos.Options{}))
	if n := r.landings(t); n != 0 {
		t.Fatalf("%d requests of a dead process landed", n)
	}
}

// The control: without the guard the kernel goes on for the dead process.
func TestLabKilledSenderUnguarded(t *testing.T) {
	r := newRig(t, lab.LinksNetns)
	local, _ := r.killSender(t, "unguarded")
	if n := queued(t, local); n < 1000 {
		t.Fatalf("the kernel holds %d bytes", n)
	}
}

// killSender cuts the worker off, lets another process send to it, and kills that process once the request is queued.
func (r rig) killSender(t *testing.T, how string) (netip.AddrPort, *lab.Link) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sender := exec.CommandContext(t.Context(), exe, "send", r.lab.Talosconfig(), r.worker.Address(), how)
	sender.Stderr = os.Stderr
	in, err := sender.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := sender.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sender.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	local := netip.MustParseAddrPort(strings.TrimSpace(line))
	link, err := r.lab.Link(lab.Client, r.worker.Name())
	if err != nil {
		t.Fatal(err)
	}
	if err := link.Cut(within(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	ctx := within(t)
	for queued(t, local) < 1000 { // the request, unacknowledged
		if ctx.Err() != nil {
			t.Fatal("the request never left")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := sender.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = sender.Wait() // reports the kill
	return local, link
}

// queued is how many bytes this host's socket at the address holds unacknowledged, -1 without such a socket. It reads
// the kernel's table by itself, and only of IPv4.
func queued(t *testing.T, local netip.AddrPort) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/thread-self/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	ip := local.Addr().As4()
	slices.Reverse(ip[:]) // the table shows words of a little-endian host
	port := []byte{byte(local.Port() >> 8), byte(local.Port())}
	want := strings.ToUpper(hex.EncodeToString(ip[:]) + ":" + hex.EncodeToString(port))
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 5 || f[1] != want || f[3] == "06" {
			continue
		}
		tx, err := hex.DecodeString(f[4][:8])
		if err != nil {
			t.Fatal(err)
		}
		return int64(tx[0])<<24 | int64(tx[1])<<16 | int64(tx[2])<<8 | int64(tx[3])
	}
	return -1
}
