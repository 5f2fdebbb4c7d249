package talos

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/dispatch"
)

func socket(local, remote, state string, tx, rx uint64) Socket {
	return Socket{netip.MustParseAddrPort(local), netip.MustParseAddrPort(remote), state, tx, rx}
}

// Addresses of the cases: this host, an endpoint and a node.
const (
	sender     = "10.0.0.1:41000"
	atEndpoint = "10.0.0.2:50000"
	onwards    = "10.0.0.2:42000"
	atNode     = "10.0.0.3:50000"
)

func viaTables() tables {
	return tables{
		NextHopNode: "node-e", HopTwo: true,
		NextHop:  []Socket{socket(atEndpoint, sender, established, 0, 0)},
		Endpoint: []Socket{socket(onwards, atNode, established, 0, 0)},
		Node:     []Socket{socket(atNode, onwards, established, 0, 0)},
	}
}

func directTables() tables {
	return tables{NextHopNode: "node-n", NextHop: []Socket{socket(atNode, sender, established, 0, 0)}}
}

func viaAttempt(t *testing.T, b baseline) dispatch.Attempt {
	t.Helper()
	raw, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return dispatch.Attempt{Route: dispatch.Via("10.0.0.2"), LocalAddr: sender, RemoteAddr: atEndpoint, Sockets: raw}
}

func TestHopsNow(t *testing.T) {
	gone := func(b *tables) { b.NextHop = []Socket{} }
	for _, c := range []struct {
		name    string
		change  func(*tables)
		missing string // of the failing checks, "" when all hold
	}{
		{"everything empty, the peer not yet forgotten", func(*tables) {}, ""},
		{"everything empty, the peer gone", gone, ""},
		{"the next hop has not read", func(b *tables) { b.NextHop[0].Rx = 1 }, "receive queue from the attempt's address"},
		{"the next hop has not read, half closed", func(b *tables) { b.NextHop[0].State, b.NextHop[0].Rx = "CLOSEWAIT", 1 }, "receive queue from the attempt's address"},
		{"the endpoint holds bytes", func(b *tables) { b.Endpoint[0].Tx, b.Node = 1, []Socket{} }, "its transmit queue is empty"},
		{"the endpoint has no connection", func(b *tables) { b.Endpoint, b.Node = []Socket{}, []Socket{} }, "exactly one connection"},
		{"the endpoint has two", func(b *tables) {
			b.Endpoint = append(b.Endpoint, socket("10.0.0.2:42001", atNode, established, 0, 0))
		}, "exactly one connection"},
		{"an old one of the endpoint lingers", func(b *tables) {
			b.Endpoint = append(b.Endpoint, socket("10.0.0.2:42001", atNode, "FIN_WAIT1", 9, 0))
		}, "exactly one connection"},
		{"the endpoint's is closing", func(b *tables) { b.Endpoint[0].State = "FIN_WAIT2" }, "exactly one connection"},
		{"the endpoint has another", func(b *tables) {
			b.Endpoint[0].Local = netip.MustParseAddrPort("10.0.0.2:42001")
		}, "the connection of before the send"},
		{"the node does not list it", func(b *tables) { b.Node = []Socket{} }, "the node lists exactly that connection"},
		{"the node lists it twice", func(b *tables) { b.Node = append(b.Node, b.Node[0]) }, "the node lists exactly that connection"},
		{"the node has not read", func(b *tables) { b.Node[0].Rx = 1 }, "the node's receive queue from it"},
		{"another node took the endpoint's address", func(b *tables) { b.NextHopNode = "node-x" }, "the same node"},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := viaTables()
			c.change(&now)
			missing := failing(now.checks(baseline{tables: viaTables()}))
			if (missing == "") != (c.missing == "") || !strings.Contains(missing, c.missing) {
				t.Errorf("missing %q, want %q", missing, c.missing)
			}
		})
	}
	now := directTables()
	if missing := failing(now.checks(baseline{tables: directTables()})); missing != "" {
		t.Errorf("direct: %s", missing)
	}
	now.NextHop[0].Rx = 7
	if missing := failing(now.checks(baseline{tables: directTables()})); missing == "" {
		t.Error("direct: unread bytes at the node were overlooked")
	}
}

func TestHopsBefore(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*baseline)
		missing string
	}{
		{"as it should be", func(*baseline) {}, ""},
		{"not on this system", func(b *baseline) { *b = baseline{Unavailable: "not offered here"} }, "not offered here"},
		{"the sender was not listed", func(b *baseline) { b.NextHop = []Socket{} }, "terminates TCP"},
		{"another peer was listed", func(b *baseline) {
			b.NextHop[0].Remote = netip.MustParseAddrPort("10.0.0.9:41000")
		}, "terminates TCP"},
		{"listed twice", func(b *baseline) { b.NextHop = append(b.NextHop, b.NextHop[0]) }, "terminates TCP"},
		{"two connections onwards", func(b *baseline) { b.Endpoint = append(b.Endpoint, b.Endpoint[0]) }, "exactly one connection"},
		{"bytes under way onwards", func(b *baseline) { b.Endpoint[0].Tx = 1 }, "transmit queue"},
		{"the node did not list it", func(b *baseline) { b.Node = nil }, "the node lists"},
		{"another route", func(b *baseline) { *b = baseline{tables: directTables()} }, "the attempt's route"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := baseline{tables: viaTables()}
			c.change(&b)
			attempt := viaAttempt(t, b)
			missing := failing(parseBaseline(attempt.Sockets).checks(attempt))
			if (missing == "") != (c.missing == "") || !strings.Contains(missing, c.missing) {
				t.Errorf("missing %q, want %q", missing, c.missing)
			}
		})
	}
	for _, raw := range []string{"", "null", "{}", "[]", "x", `{"next_hop":null}`} {
		attempt := viaAttempt(t, baseline{})
		attempt.Sockets = json.RawMessage(raw)
		if failing(parseBaseline(attempt.Sockets).checks(attempt)) == "" {
			t.Errorf("a record %q bore evidence", raw)
		}
	}
}

func TestEvidenceIsBoundToTheHost(t *testing.T) {
	here := dispatch.Host{Name: "h", ID: "id", BootID: "boot", NetNS: "net:[1]"}
	attempt := dispatch.Attempt{Route: dispatch.Direct, Host: here}
	target := Target{Address: "10.0.0.3", Route: dispatch.Direct}
	if missing := failing(hostChecks(attempt, target, here)); missing != "" {
		t.Fatal(missing)
	}
	for name, change := range map[string]func(*dispatch.Host){
		"host":      func(h *dispatch.Host) { h.ID = "other" },
		"boot":      func(h *dispatch.Host) { h.BootID = "other" },
		"namespace": func(h *dispatch.Host) { h.NetNS = "net:[2]" },
		"nothing":   func(h *dispatch.Host) { *h = dispatch.Host{} },
	} {
		there := attempt
		change(&there.Host)
		if failing(hostChecks(there, target, here)) == "" {
			t.Errorf("%s: evidence from elsewhere was taken", name)
		}
	}
	// Two hosts that know neither boot nor namespace are not one.
	nowhere := dispatch.Attempt{Route: dispatch.Direct}
	if failing(hostChecks(nowhere, target, dispatch.Host{})) == "" {
		t.Error("missing identities were taken for equal ones")
	}
	if failing(hostChecks(attempt, Target{Address: "10.0.0.3", Route: dispatch.Via("10.0.0.2")}, here)) == "" {
		t.Error("evidence over another route was taken")
	}
}

func TestChecksHaveNamesOfTheirOwn(t *testing.T) {
	b := baseline{tables: viaTables()}
	attempt := viaAttempt(t, b)
	var names []string
	for _, c := range append(b.checks(attempt), b.tables.checks(b)...) {
		if c.Name == "" || c.Reading == "" || slices.Contains(names, c.Name) {
			t.Errorf("%+v", c)
		}
		names = append(names, c.Name)
	}
}
