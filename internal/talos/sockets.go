package talos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/clewops/clew/internal/dispatch"
)

// Check is one condition of accounting by evidence, as it was found.
type Check struct {
	Name    string `json:"name"`
	Holds   bool   `json:"holds"`
	Reading string `json:"reading"` // what was found, for people
}

// Verdict is the socket half of "cannot arrive any more". The other half, two late reads that agree, is the executor's.
type Verdict struct {
	Available bool            // such evidence can be had for this attempt, from here
	Holds     bool            // every condition was found to hold, twice
	Missing   string          // what is in the way, "" when it holds
	Evidence  json.RawMessage // every check and reading; addresses and numbers only
}

// evidence is what a Verdict carries as JSON.
type evidence struct {
	Local   string        `json:"local"`
	Remote  string        `json:"remote"`
	Route   string        `json:"route"`
	Target  string        `json:"target"`
	Through string        `json:"through,omitempty"` // this side of the connection that asked
	Host    dispatch.Host `json:"host,omitzero"`
	Before  []Check       `json:"before"` // of the attempt's record
	Rounds  []round       `json:"rounds"` // of now, in order

	without string // a control's: the name of a check that counts as holding
}

// round is one reading of every table, upstream first: a byte that moves on between two readings is then still seen.
type round struct {
	Hop1   []Socket `json:"hop1"` // this host's sockets with the attempt's local address
	Tables tables   `json:"tables,omitzero"`
	Checks []Check  `json:"checks"`
}

// Two rounds in a row must agree; queues that are not empty at once get this many rounds.
const (
	rounds     = 8
	roundPause = 250 * time.Millisecond
)

// CannotArrive gathers the socket part of the evidence that a lost attempt cannot arrive any more, on a fresh
// connection over the attempt's own route. It may be asked again: what is in the way may pass. A failure to read is an
// error beside a verdict that does not hold; it says nothing about the attempt.
func CannotArrive(ctx context.Context, c *Config, t Target, attempt dispatch.Attempt) (Verdict, error) {
	return cannotArrive(ctx, c, t, attempt, Options{})
}

// CannotArriveWithout is for controls: the check of that name counts as holding, to see what it prevents. The evidence
// still says how the check was found.
func CannotArriveWithout(ctx context.Context, c *Config, t Target, attempt dispatch.Attempt, check string) (Verdict, error) {
	return cannotArrive(ctx, c, t, attempt, Options{withoutCheck: check})
}

func cannotArrive(ctx context.Context, c *Config, t Target, attempt dispatch.Attempt, o Options) (Verdict, error) {
	e := evidence{
		Local: attempt.LocalAddr, Remote: attempt.RemoteAddr, Route: string(attempt.Route), Target: t.Address,
		Before: []Check{}, Rounds: []round{}, without: o.withoutCheck,
	}
	if socketTables != "" {
		return e.verdict(false, socketTables), nil
	}
	here, err := LocalHost()
	if err != nil {
		return e.verdict(false, "this host cannot be identified"), err
	}
	e.Host = here
	local, err := parseAddrPort(attempt.LocalAddr)
	if err != nil {
		return e.verdict(false, "the attempt's own address is not recorded"), nil
	}
	b := parseBaseline(attempt.Sockets)
	e.Before = append(hostChecks(attempt, t, here), b.checks(attempt)...)
	if missing := e.failing(e.Before); missing != "" {
		return e.verdict(false, missing), nil
	}
	// While this host still holds the socket nobody else needs to be asked.
	first, err := readHop1(local)
	if err != nil {
		return e.verdict(true, "this host's sockets could not be read"), err
	}
	if missing := e.failing(first.Checks); missing != "" {
		e.Rounds = append(e.Rounds, first)
		return e.verdict(true, missing), nil
	}
	conn, err := Dial(ctx, c, t, o)
	if err != nil {
		return e.verdict(true, "the next hop does not answer"), err
	}
	defer func() { _ = conn.Close() }()
	e.Through = conn.LocalAddr()
	if conn.RemoteAddr() != attempt.RemoteAddr {
		return e.verdict(true, "the next hop has another address now: "+conn.RemoteAddr()), nil
	}
	return e.gather(ctx, conn, local, b)
}

// gather reads rounds until two in a row agree that every condition holds, or there were enough of them.
func (e *evidence) gather(ctx context.Context, conn *Conn, local netip.AddrPort, b baseline) (Verdict, error) {
	if through, err := parseAddrPort(e.Through); err == nil && through == local {
		return e.verdict(true, "the connection that asked was given the attempt's own port; ask again"), nil
	}
	var missing string
	for n, agreeing := 0, 0; n < rounds; n++ {
		if n > 0 {
			if err := pause(ctx, roundPause); err != nil {
				return e.verdict(true, missing), err
			}
		}
		r, err := readHop1(local)
		if err != nil {
			return e.verdict(true, "this host's sockets could not be read"), err
		}
		if r.Tables, err = conn.readTables(ctx, local); err != nil {
			e.Rounds = append(e.Rounds, r)
			return e.verdict(true, "the hops' sockets could not be read"), err
		}
		r.Checks = append(r.Checks, r.Tables.checks(b)...)
		e.Rounds = append(e.Rounds, r)
		if missing = e.failing(r.Checks); missing != "" {
			agreeing = 0
			continue
		}
		if agreeing++; agreeing == 2 {
			return e.verdict(true, ""), nil
		}
	}
	if missing == "" {
		missing = "two readings in a row did not agree"
	}
	return e.verdict(true, missing), nil
}

func (e *evidence) verdict(available bool, missing string) Verdict {
	raw, err := json.Marshal(e)
	if err != nil { // evidence that cannot be recorded is none
		return Verdict{Available: available, Missing: fmt.Sprintf("the evidence cannot be encoded: %v", err)}
	}
	return Verdict{Available: available, Holds: available && missing == "", Missing: missing, Evidence: raw}
}

// readHop1 looks for what this host still holds of the attempt's connection.
func readHop1(local netip.AddrPort) (round, error) {
	all, err := localSockets()
	if err != nil {
		return round{}, err
	}
	held := filterSockets(all, func(s Socket) bool { return s.Local == local && s.State != timeWait })
	return round{Hop1: held, Checks: []Check{{
		Name:    "hop 1: this host holds no socket with the attempt's address and port",
		Holds:   len(held) == 0,
		Reading: describe(held),
	}}}, nil
}

// hostChecks compare where this process runs, and where it would ask, with the attempt's record.
func hostChecks(attempt dispatch.Attempt, t Target, here dispatch.Host) []Check {
	sent := attempt.Host
	return []Check{
		{"sent from this host", sent.ID == here.ID, quoteOr(sent.Name, "not recorded")},
		{"sent in this boot", sent.BootID != "" && sent.BootID == here.BootID, quoteOr(sent.BootID, "not recorded")},
		{"sent in this network namespace", sent.NetNS != "" && sent.NetNS == here.NetNS, quoteOr(sent.NetNS, "not recorded")},
		{"asked over the attempt's route", t.Route == attempt.Route, string(t.Route)},
	}
}

// failing names the checks that do not hold and that no control took away.
func (e *evidence) failing(checks []Check) string {
	return failing(slices.DeleteFunc(slices.Clone(checks), func(c Check) bool { return c.Name == e.without }))
}

// failing names the checks that do not hold, "" when all do.
func failing(checks []Check) string {
	var names []string
	for _, c := range checks {
		if !c.Holds {
			names = append(names, fmt.Sprintf("%s (%s)", c.Name, c.Reading))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "not so: " + strings.Join(names, "; ")
}

func quoteOr(s, none string) string {
	if s == "" {
		return none
	}
	return s
}

// describe prints sockets for people.
func describe(sockets []Socket) string {
	if len(sockets) == 0 {
		return "none"
	}
	var parts []string
	for _, s := range sockets {
		parts = append(parts, fmt.Sprintf("%s->%s %s tx %d rx %d", s.Local, s.Remote, s.State, s.Tx, s.Rx))
	}
	return strings.Join(parts, ", ")
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errNoIP = errors.New("the node is addressed by name, so its sockets cannot be told at the endpoint; address it by IP")
