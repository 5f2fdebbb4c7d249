package dispatch

import (
	"fmt"
	"time"

	"github.com/clewops/clew/internal/refusal"
)

// LateReadsApart is the least time between the two late reads of accounting by evidence: what a forwarding process holds
// in no queue has moved on by then.
const LateReadsApart = 5 * time.Second

// DecisionFacts is what a decision about a lost attempt rests on, as read in the transaction that records it.
type DecisionFacts struct {
	Plan        Plan
	Attempt     Attempt
	SenderEnded string       // why the sending process counts as ended, "" when it does not
	FirstRead   time.Time    // the record of the first successful read on the attempt's route begun after the transport deadline; zero without one
	Frame       *Observation // the recovery observation that the decision names
	NewestBasis int64        // of the machine's recorded readings
	Decision    Decision
}

// Deadline is the end of the attempt's transport deadline.
func Deadline(p Plan, a Attempt) time.Time { return a.StartedAt.Add(p.TransportDeadline) }

// CheckDecision refuses a decision whose conditions do not hold: the sending process has ended, the settle time has
// passed since the first successful read on the attempt's own route, and a recovery observation frames it. "settle-time"
// is the one code that passes by waiting and reading again. I6 I11
func CheckDecision(f DecisionFacts) *refusal.Refusal {
	no := func(code, why string) *refusal.Refusal { return deciding(f.Attempt.Operation, code, why) }
	a, d := f.Attempt, f.Decision
	if d.Reason == "" {
		return no("no-reason", "a decision needs a reason")
	}
	if d.SettleFloor < MinimumSettle {
		return no("settle-floor", fmt.Sprintf("the settle floor is %s, at least %s is needed", d.SettleFloor, MinimumSettle))
	}
	if f.SenderEnded == "" {
		return refusal.New("settling", "sender-running", "the sending process is not shown to have ended: a takeover does not end it",
			"clew admin recovery attest "+a.By.Instance+" --reason TEXT")
	}
	end, r := settled(f)
	if r != nil {
		return r
	}
	o := f.Frame
	switch {
	case o == nil || o.Purpose != ForRecovery:
		return no("not-framed", "no recovery observation frames the decision")
	case o.Basis <= a.Revision:
		return no("not-framed", "the recovery observation began before the attempt")
	case o.StartedAt.Before(end):
		return no("settle-time", fmt.Sprintf("the recovery observation began before the settle time ended (%s)", end.UTC().Format(time.RFC3339)))
	case o.Basis != f.NewestBasis:
		return no("not-framed", "a newer reading than the recovery observation is recorded")
	}
	return nil
}

// settled is when the settle time ends, or why that cannot be said yet.
func settled(f DecisionFacts) (time.Time, *refusal.Refusal) {
	a, d := f.Attempt, f.Decision
	if d.RouteGone != "" {
		if a.Route.Endpoint() == "" {
			return time.Time{}, deciding(a.Operation, "no-endpoint", "the attempt went directly: there is no endpoint that could be gone")
		}
		return Deadline(f.Plan, a).Add(d.SettleFloor), nil
	}
	if f.FirstRead.IsZero() {
		return time.Time{}, deciding(a.Operation, "settle-time",
			fmt.Sprintf("no reading on the attempt's own route (%s) succeeded since its transport deadline", a.Route))
	}
	return f.FirstRead.Add(SettleTime(d.SettleFloor, a.StartedAt, f.FirstRead)), nil
}

// EvidenceFacts is what an accounting by evidence rests on, as read in the transaction that records it. What the hops'
// sockets showed is judged by who read them, and recorded; the rest is checked here.
type EvidenceFacts struct {
	Attempt     Attempt
	By          Owner         // who gathered the evidence
	Host        Host          // where By runs
	SenderEnded string        // why the sending process counts as ended, "" when it does not
	Accounting  Accounting    // Basis names the second late read
	Reads       []Observation // recorded by By for accounting of this operation
}

// CheckEvidence refuses an accounting by evidence that cannot be one: only an instance on the sending host, boot and
// network namespace can prove it, the sending process must have ended or be the one that aborted its connection, and two
// late reads on the route must agree within one boot. I6
func CheckEvidence(f EvidenceFacts) *refusal.Refusal {
	no := func(code, why string) *refusal.Refusal { return settling(f.Attempt.Operation, code, why) }
	a := f.Attempt
	switch {
	case f.Accounting.Kind != CannotArrive:
		return no("accounting-kind", fmt.Sprintf("%q is not proved by evidence on the connection", f.Accounting.Kind))
	case a.Host.ID != f.Host.ID || a.Host.BootID != f.Host.BootID || a.Host.NetNS != f.Host.NetNS:
		return no("other-host", "evidence on the connection can only be had on the sending host, in the same boot and network namespace")
	case a.By.Instance != f.By.Instance && f.SenderEnded == "":
		return no("sender-running", "the sending process is not shown to have ended")
	case len(f.Accounting.Evidence) == 0:
		return no("no-evidence", "nothing says what the hops' sockets showed")
	}
	if !lateReadsAgree(f) {
		return no("late-reads", fmt.Sprintf("no two readings on %s, at least %s apart, agree within one boot", a.Route, LateReadsApart))
	}
	return nil
}

func lateReadsAgree(f EvidenceFacts) bool {
	onRoute := func(o Observation) bool {
		return o.Route == f.Attempt.Route && o.Basis > f.Attempt.Revision && o.Instance == f.By.Instance
	}
	for _, second := range f.Reads {
		if second.Basis != f.Accounting.Basis || !onRoute(second) {
			continue
		}
		for _, first := range f.Reads {
			if onRoute(first) && first.Basis < second.Basis && second.StartedAt.Sub(first.StartedAt) >= LateReadsApart &&
				sameBytes(first.Reading, second.Reading) {
				return true
			}
		}
	}
	return false
}

// sameBytes says whether two readings show the same bytes of both resources within one boot of one node.
func sameBytes(a, b Reading) bool {
	return a.BootID == b.BootID && a.NodeID == b.NodeID &&
		a.Active.Present == b.Active.Present && a.Active.Digest == b.Active.Digest &&
		a.Persistent.Present == b.Persistent.Present && a.Persistent.Digest == b.Persistent.Digest
}

func deciding(op, code, why string) *refusal.Refusal {
	return refusal.New("settling", code, why, "clew settle "+op+" --judge REASON")
}

func settling(op, code, why string) *refusal.Refusal {
	return refusal.New("settling", code, why, "clew settle "+op)
}
