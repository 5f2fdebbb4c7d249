package dispatch

import (
	"fmt"
	"time"

	"github.com/clewops/clew/internal/refusal"
)

// Facts is everything that a commitment or an attempt read under its locks. Nothing in it was read before them.
type Facts struct {
	Now        time.Time // the store's, read after the locks
	Epoch      string
	InRecovery bool

	Machine   Machine
	Plan      Plan
	Standing  Standing
	Approvals []Approval // of the plan, with their revocations and their identities'

	Existing *Operation // the operation of this plan, if there is one
	Other    *Operation // another operation of the machine in a holding state, if there is one
	Attempts []Attempt  // of Existing

	Evidence *Observation  // the newest evidence of the requesting instance for this plan or operation
	Newer    []Observation // of this machine, with a higher basis than Evidence

	RolloutOpen      int // operations of the plan's rollout in holding states
	RolloutLimit     int // the smallest limit its plans bind
	RolloutFailed    int // failed or rejected since an approver last opened it
	RolloutMaxFailed int // the smallest bound

	By        Owner   // who asks
	Request   Request // what would reach the node
	LocalAddr string  // A: of the connection that would send, "" when it has no address

	Without Without
}

// Request is what the executor holds in its hands at the transaction: what would reach the node.
type Request struct {
	Artifact  string // digest recomputed from the decrypted bytes, or of the stored artifact before decryption
	Operation string
	Mode      string
	Route     Route
	Address   string
}

// comparison is one numbered comparison: "" and "" when it holds.
type comparison struct {
	number int
	guard  Guard
	check  func(Facts, bool) (code, why string)
}

var commitment = []comparison{
	{0, GuardOneOperation, compare0},
	{1, "", compare1},
	{2, GuardBinding, compare2},
	{3, GuardEvidence, compare3},
	{4, GuardScope, compare4},
	{5, GuardRollout, compare5},
	{6, GuardGate, compare6},
}

var attempt = []comparison{
	{1, GuardApproval, compare1},
	{2, GuardBinding, compare2},
	{3, GuardEvidence, compare3},
	{6, GuardGate, compare6},
	{7, GuardOwnership, compare7},
	{8, GuardClassification, compare8},
	{9, GuardAttempts, compare9},
}

// Commitment runs the comparisons of C in number order and returns the first refusal, nil when all hold.
func Commitment(f Facts) *refusal.Refusal { return run("commitment", commitment, f, false) }

// AttemptAllowed runs the comparisons of A in number order and returns the first refusal, nil when all hold.
func AttemptAllowed(f Facts) *refusal.Refusal { return run("attempt", attempt, f, true) }

// Precheck runs, before anything is decrypted or any credential used, the comparisons that need no reading of the machine:
// 1 and 6, and 4 for a plan that has no operation yet, so that a machine that is held is said to be held even when it
// cannot be reached. A plan that is already committed is judged as for a retry.
func Precheck(f Facts) *refusal.Refusal {
	list := []comparison{{1, "", compare1}, {4, GuardScope, compare4}, {6, GuardGate, compare6}}
	if f.Existing != nil {
		list = []comparison{{1, "", compare1}, {6, GuardGate, compare6}}
	}
	return run("precheck", list, f, f.Existing != nil)
}

func run(transaction string, list []comparison, f Facts, isAttempt bool) *refusal.Refusal {
	for _, c := range list {
		if c.guard != "" && f.Without.Has(c.guard) {
			continue
		}
		if code, why := c.check(f, isAttempt); code != "" {
			return &refusal.Refusal{
				Transaction: transaction, Comparison: c.number, Code: code, Message: why,
				Remedy: remedy(f, c.number, code, isAttempt),
			}
		}
	}
	return nil
}

// remedy is the command, or commands by lines, that go on after a refusal.
func remedy(f Facts, number int, code string, isAttempt bool) string {
	switch {
	case isAttempt && f.Existing != nil:
		return "clew settle " + f.Existing.ID
	case number == 0:
		return "clew show " + f.Plan.ID
	case number == 1 && f.Standing.State == PlanProposed && f.Now.Before(f.Plan.ExpiresAt):
		return "clew approve " + f.Plan.ID
	case number == 3 && (code == "no-evidence" || code == "evidence-old" || code == "other-connection"):
		return "clew dispatch " + f.Plan.ID
	case number == 3:
		return "clew machine show " + f.Machine.Name + " --refresh"
	case number == 4:
		return "clew settle " + f.Other.ID
	case code == "rollout-closed":
		return "clew plan rollout open " + f.Plan.Rollout.ID + " --reason TEXT"
	case number == 5: // a slot becomes free as operations end
		return "clew show " + f.Plan.Rollout.ID
	case number == 6:
		return "clew machine show " + f.Machine.Name
	}
	return anew(f.Plan, f.Machine.Name)
}

// anew is the command that plans the same kind of change again, for the machine as it is now.
func anew(p Plan, machine string) string {
	switch {
	case p.Kind == KindAdopt:
		return "clew plan create -n " + machine + " --adopt"
	case p.Drift != "":
		return "clew plan create -n " + machine + " --revert"
	}
	return "clew plan create -n " + machine + " -p PATCH"
}

// compare0: no operation exists for this plan. I12
func compare0(f Facts, _ bool) (string, string) {
	if f.Existing != nil {
		return "operation-exists", fmt.Sprintf("plan %s is already committed to operation %s", f.Plan.ID, f.Existing.ID)
	}
	return "", ""
}

// compare1: the plan is approved (C) or committed to this operation (A), unexpired, uncancelled, and enough unrevoked
// approvals of unrevoked identities of this epoch stand now. I8 I13 I18
func compare1(f Facts, isAttempt bool) (string, string) {
	s := f.Standing
	if !f.Without.Has(GuardExpiry) && (s.ExpiredRev != 0 || !f.Now.Before(f.Plan.ExpiresAt)) {
		return "plan-expired", fmt.Sprintf("plan %s expired %s", f.Plan.ID, f.Plan.ExpiresAt.UTC().Format(time.RFC3339))
	}
	if s.CancelledRev != 0 {
		return "plan-cancelled", fmt.Sprintf("plan %s was cancelled", f.Plan.ID)
	}
	if s.RevokedRev != 0 {
		return "plan-revoked", fmt.Sprintf("the approval of plan %s was revoked", f.Plan.ID)
	}
	if isAttempt {
		if f.Existing == nil || s.State != PlanCommitted || s.Operation != f.Existing.ID {
			return "plan-not-committed", fmt.Sprintf("plan %s is not committed to this operation", f.Plan.ID)
		}
	} else if s.State != PlanApproved && !(s.State == PlanCommitted && f.Without.Has(GuardOneOperation)) {
		return "plan-not-approved", fmt.Sprintf("plan %s is %s, not approved", f.Plan.ID, s.State)
	}
	if n := CountApprovals(f.Plan.Policy, f.Approvals, f.Epoch); n < f.Plan.Policy.Approvals {
		return "approvals-missing", fmt.Sprintf("%d of %d approvals stand now", n, f.Plan.Policy.Approvals)
	}
	return "", ""
}

// compare2: artifact, assignment, operation, mode, route, parameters unchanged; the baseline is the bound one. I4 I9 I14
func compare2(f Facts, _ bool) (string, string) {
	p, q, m := f.Plan, f.Request, f.Machine
	switch {
	case m.BaselineRevision != p.BaselineRevision:
		return "baseline-moved", fmt.Sprintf("the machine's configuration was changed since the plan was made (baseline %d, bound %d)",
			m.BaselineRevision, p.BaselineRevision)
	case m.AssignmentRevision != p.AssignmentRevision:
		return "assignment-changed", "the machine's assignment was changed since the plan was made"
	case m.ClusterID != p.ClusterID || m.NodeID != p.NodeID:
		return "other-machine", "the plan binds another machine"
	case p.Kind == KindAdopt:
		return "", ""
	case q.Artifact != p.Artifact:
		return "artifact-changed", "the artifact is not the one the plan binds"
	case q.Operation != p.Operation || q.Mode != p.Mode || q.Route != p.Route || q.Address != p.Address:
		return "parameters-changed", "operation, mode, route or address are not the ones the plan binds"
	}
	return "", ""
}

// compare3: evidence recorded for this plan (on a retry: this operation) by this instance, recent enough, meeting the
// preconditions, not contradicted by a newer observation, at the bound pre-dispatch digest. I14
func compare3(f Facts, isAttempt bool) (string, string) {
	e := f.Evidence
	if e == nil || e.Instance != f.By.Instance || (e.Plan != f.Plan.ID && !(isAttempt && f.ofExisting(*e))) {
		return "no-evidence", "this executor recorded no reading of the machine for this plan"
	}
	if isAttempt && isRetry(f) && !f.ofExisting(*e) {
		return "no-evidence", "this executor recorded no reading of the machine for this retry"
	}
	if isAttempt && f.LocalAddr != "" && e.LocalAddr != "" && f.LocalAddr != e.LocalAddr {
		return "other-connection", "the reading was made on another connection than the one that would send"
	}
	if code, why := freshAndFit(f, *e); code != "" {
		return code, why
	}
	for _, n := range f.Newer {
		if _, why := checkReading(f.Plan, f.Machine, n.Reading); why != "" {
			return "contradicted", "a newer reading differs: " + why
		}
	}
	return "", ""
}

// freshAndFit: the reading is recent enough and serves as evidence for the plan.
func freshAndFit(f Facts, e Observation) (string, string) {
	age := f.Now.Sub(e.StartedAt)
	if age > f.Plan.MaxAge {
		return "evidence-old", fmt.Sprintf("the reading is %s old, at most %s is allowed", age.Round(time.Millisecond), f.Plan.MaxAge)
	}
	if age < -time.Second {
		return "evidence-future", "the reading is dated after the present: the clock was set back"
	}
	return checkReading(f.Plan, f.Machine, e.Reading)
}

// isRetry: the operation was sent before, or the asking owner classified it as safe to retry.
func isRetry(f Facts) bool {
	return len(f.Attempts) > 0 || (f.Existing != nil && f.Existing.Retry != nil && f.Existing.Retry.By == f.By)
}

// ofExisting says whether the reading was made for the plan's operation.
func (f Facts) ofExisting(o Observation) bool {
	return f.Existing != nil && o.Operation == f.Existing.ID
}

// compare4: no other operation of this machine holds the scope. I1
func compare4(f Facts, _ bool) (string, string) {
	if f.Other != nil {
		return "scope-held", fmt.Sprintf("operation %s of this machine is %s", f.Other.ID, f.Other.State)
	}
	return "", ""
}

// compare5: the rollout has room. I15
func compare5(f Facts, _ bool) (string, string) {
	r := f.Plan.Rollout
	if r == nil {
		return "", ""
	}
	if f.RolloutFailed > f.RolloutMaxFailed {
		return "rollout-closed", fmt.Sprintf("%d operations of rollout %s failed or were rejected, at most %d may: an approver opens it again", f.RolloutFailed, r.ID, f.RolloutMaxFailed)
	}
	if f.RolloutOpen >= f.RolloutLimit {
		return "rollout-full", fmt.Sprintf("%d operations of rollout %s are open, the limit is %d: a slot becomes free when one of them ends", f.RolloutOpen, r.ID, f.RolloutLimit)
	}
	return "", ""
}

// compare6: the gate is open. I10
func compare6(f Facts, _ bool) (string, string) {
	if why := gate(f.Machine, f.Plan, f.Epoch, f.InRecovery); why != "" {
		return "gate-closed", why
	}
	return "", ""
}

// compare7: the asker is the current owner, and the state admits an attempt. The store checks the same inside the UPDATE
// that records the attempt. I2 I8
func compare7(f Facts, _ bool) (string, string) {
	op := f.Existing
	if op == nil {
		return "no-operation", "no operation exists for this plan"
	}
	if op.Owner != f.By && !f.Without.Has(GuardOwner) {
		return "not-owner", "another executor owns the operation now"
	}
	if op.Owner.Epoch != f.Epoch {
		return "other-epoch", "the operation belongs to another recovery epoch"
	}
	if f.Without.Has(GuardOwnedState) || op.State == Committed {
		return "", ""
	}
	if op.State == Unresolved && op.Retry != nil && (op.Retry.By == f.By || f.Without.Has(GuardOwner)) {
		return "", ""
	}
	return "wrong-state", fmt.Sprintf("the operation is %s and not classified as safe to retry by its owner", op.State)
}

// compare8: on a retry, nothing was recorded after the classification that could change it. I17
func compare8(f Facts, _ bool) (string, string) {
	op := f.Existing
	if op == nil || op.Retry == nil {
		return "", ""
	}
	for _, a := range f.Attempts {
		if a.Response != nil && a.Response.Revision > op.Retry.Revision {
			return "response-since", "a response was recorded after the operation was classified as safe to retry"
		}
	}
	return "", ""
}

// compare9: attempts are left. I16
func compare9(f Facts, _ bool) (string, string) {
	if len(f.Attempts) >= f.Plan.MaxAttempts {
		return "attempts-used", fmt.Sprintf("%d of %d attempts are used", len(f.Attempts), f.Plan.MaxAttempts)
	}
	return "", ""
}
