package dispatch

import (
	"fmt"
	"slices"
	"time"
)

// clockSlack is how far a clock may fall back before commitments and attempts fail: times that were read in different
// transactions are compared with it.
const clockSlack = time.Second

// finalReading says whether a reading can show or contradict anything: a node that is going down or coming up cannot.
func finalReading(r Reading) bool {
	return !slices.Contains([]string{"rebooting", "upgrading", "shutting down", "shuttingDown", "shutting-down", "resetting"}, r.Stage)
}

// unfit says why a reading is no evidence for a plan whose machine is m, "" when it is: bound identity, assignment and
// digest, preconditions, and no change pending for the next boot.
func unfit(p Plan, m Machine, r Reading) string {
	switch {
	case r.ClusterID != p.ClusterID || r.NodeID != p.NodeID:
		return "it shows another machine"
	case r.Role != m.Assignment.Role:
		return fmt.Sprintf("it shows a %s", r.Role)
	case !finalReading(r):
		return "the node was " + r.Stage
	case p.Pre.Stage != "" && p.Pre.Stage != r.Stage:
		return fmt.Sprintf("the node was %s, the plan demands %s", r.Stage, p.Pre.Stage)
	case p.Pre.Ready && !r.Ready:
		return "the node was not ready, as the plan demands"
	case !r.Active.Present || r.Active.Digest != p.Expected:
		return fmt.Sprintf("it shows %s, the plan binds %s", ShortDigest(r.Active.Digest), ShortDigest(p.Expected))
	case r.Persistent.Present && r.Persistent.Digest != r.Active.Digest:
		return "a change was pending for the next boot"
	}
	return ""
}

// unmet says which postcondition a reading contradicts, "" when it shows them all. The node's boot before the newest
// send is sendBoot.
func unmet(p Plan, m Machine, sendBoot string, r Reading) string {
	switch {
	case r.ClusterID != p.ClusterID || r.NodeID != p.NodeID:
		return "it shows another machine"
	case r.Role != m.Assignment.Role || m.AssignmentRevision != p.AssignmentRevision:
		return "the assignment is not the bound one"
	case r.Stage != p.Post.Stage:
		return "its stage is " + r.Stage
	case !r.Active.Present || r.Active.Digest != p.Post.Digest:
		return "it shows " + ShortDigest(r.Active.Digest)
	case r.Persistent.Present:
		if r.Persistent.Digest != p.Post.Digest {
			return "the next boot would run " + ShortDigest(r.Persistent.Digest)
		}
	case sendBoot == "" || sendBoot == r.BootID:
		return "nothing is kept for the next boot, and the node has not booted since"
	}
	return ""
}

// findRead is the recorded reading with this basis.
func (t *timeline) findRead(basis int64) (recordedRead, bool) {
	for i := len(t.reads) - 1; i >= 0; i-- {
		if t.reads[i].Basis == basis {
			return t.reads[i], true
		}
	}
	return recordedRead{}, false
}

// newest is the highest basis among the recorded readings, 0 without one.
func (t *timeline) newest() int64 {
	var basis int64
	for _, o := range t.reads {
		basis = max(basis, o.Basis)
	}
	return basis
}

// conclusive says whether the newest final reading that began after the revision shows the plan's postconditions (want)
// or contradicts one (!want).
func (t *timeline) conclusive(p Plan, sendBoot string, after int64, want bool) bool {
	m := t.rec.Machine
	if m == nil {
		return false
	}
	var best recordedRead
	for _, o := range t.reads {
		if o.Basis > after && o.Basis > best.Basis && finalReading(o.Reading) {
			best = o
		}
	}
	return best.Basis > 0 && (unmet(p, *m, sendBoot, best.Reading) == "") == want
}
