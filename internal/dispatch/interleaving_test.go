package dispatch

import (
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

var digests = map[string]string{"a": oldDigest, "b": newDigest, "c": strange}

// TestInterleavings runs the scripts in testdata/interleavings: what happens to one machine's operations when two
// executors, people and the node act in the order that the script gives. -rewrite writes what comes out.
//
// The node runs configuration a, plans say b or c. A line of an operation is: id, state, owner and generation, attempts.
func TestInterleavings(t *testing.T) {
	datadriven.Walk(t, "testdata/interleavings", func(t *testing.T, path string) {
		s := newSim()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out []string
			for _, line := range append([]string{d.FullCmd()}, strings.Split(d.Input, "\n")...) {
				if line = strings.TrimSpace(line); line != "" && line != "run" {
					out = append(out, command(t, s, strings.Fields(line)))
				}
			}
			return strings.Join(out, "\n") + "\n"
		})
	})
}

// named are the NAME=VALUE words of a command.
func named(words []string) map[string]string {
	m := map[string]string{}
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok {
			m[name] = value
		}
	}
	return m
}

func command(t *testing.T, s *sim, words []string) string {
	t.Helper()
	arg := func(i int) string {
		if i >= len(words) {
			t.Fatalf("%v: too few words", words)
		}
		return words[i]
	}
	given := named(words)
	switch words[0] {
	case "plan":
		expires := time.Hour
		if given["expires"] != "" {
			expires = duration(t, given["expires"])
		}
		return s.addPlan(arg(1), digests[arg(2)], expires)
	case "approve":
		return s.approve(arg(1), arg(2))
	case "revoke":
		return s.revoke(arg(1), arg(2))
	case "revoke-identity":
		s.revoked[arg(1)] = true
	case "cancel-plan":
		return s.cancelPlan(arg(1))
	case "freeze":
		s.machine.Frozen, s.machine.FrozenBy, s.machine.FreezeReason = true, "cas", "a test"
	case "unfreeze":
		s.machine.Frozen = false
	case "pass":
		s.now = s.now.Add(duration(t, arg(1)))
	case "node":
		changeNode(s, given)
	case "begin":
		s.begin(arg(1), given["plan"], given["op"], ForEvidence)
	case "record":
		return s.record(arg(1))
	case "read":
		s.begin(arg(1), given["plan"], given["op"], ForEvidence)
		return s.record(arg(1))
	case "commit":
		return s.commit(arg(1), arg(2))
	case "recovery":
		return "epoch " + s.enterRecovery()
	case "release":
		s.machine.Recovery, s.machine.ReleasedEpoch = RecoveryReady, s.epoch
	case "without":
		w, err := ParseWithout(arg(1))
		if err != nil {
			t.Fatal(err)
		}
		s.without = w
	case "machine":
		text := "applied " + s.machine.Applied[:1]
		if s.machine.Drift != nil {
			text += ", drifted to " + s.machine.Drift.Digest[:1]
		}
		return text
	default:
		return operationCommand(t, s, words, given)
	}
	return "ok"
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func changeNode(s *sim, given map[string]string) {
	if d := digests[given["runs"]]; d != "" {
		s.node.Active.Digest, s.node.Persistent = d, Resource{Present: true, Digest: d}
	}
	if d := digests[given["staged"]]; d != "" {
		s.node.Persistent = Resource{Present: true, Digest: d}
	}
	if given["stage"] != "" {
		s.node.Stage = given["stage"]
	}
	if given["boot"] != "" {
		s.node.BootID, s.node.Persistent = given["boot"], Resource{}
	}
}

// operationCommand is a command that names an operation: NAME OP ..., or NAME EXECUTOR OP ....
func operationCommand(t *testing.T, s *sim, words []string, given map[string]string) string {
	t.Helper()
	var op *simOp
	for _, w := range words[1:] {
		if op == nil {
			op = s.find(w)
		}
	}
	if op == nil {
		t.Fatalf("%v: no such operation", words)
	}
	x := words[1]
	believed := s.believes[x][op.op.ID]
	switch words[0] {
	case "attempt":
		return s.attempt(x, op)
	case "land":
		return s.land(op)
	case "answer":
		return s.answer(op, int(words[2][0]-'0'), ResponseClass(words[3]))
	case "account":
		return s.account(op, int(words[2][0]-'0'), CannotArrive)
	case "takeover":
		return s.takeover(x, op)
	case "classify":
		return s.classify(x, op)
	case "end":
		return s.end(x, op, 0)
	case "overdue":
		return s.step(op, Event{Kind: Overdue, By: believed})
	case "late-reject":
		return s.step(op, Event{Kind: LateReject, By: believed})
	case "cancel":
		return s.step(op, Event{Kind: Cancel, By: believed, Decision: given["decision"]})
	case "show":
		return s.show(op)
	}
	t.Fatalf("no such command: %v", words)
	return ""
}
