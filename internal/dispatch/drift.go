package dispatch

// DriftFacts is what the recording of an observation read about drift, under the machine's scope lock.
type DriftFacts struct {
	Machine     Machine
	Operations  []Operation // of the machine that held the scope at or after the observation's basis
	Observation Observation
	HigherBasis bool // a read with a higher basis is recorded
}

// DriftChange is what an observation does to the machine's drift record.
type DriftChange int

// Changes of the drift record.
const (
	DriftNone   DriftChange = iota
	DriftOpens              // Observed differs from Applied, and nothing held the scope
	DriftAdds               // the open record gets a further differing read
	DriftCloses             // what runs is Applied again: returned
)

// JudgeDrift says what a reading does to the drift record. It opens, adds or closes only when the scope was free and
// Applied unchanged from the reading's basis to its recording and no read with a higher basis is recorded: otherwise the
// reading may show a state that is already past.
func JudgeDrift(f DriftFacts) DriftChange {
	m, o := f.Machine, f.Observation
	if m.Applied == "" || f.HigherBasis || m.BaselineRevision > o.Basis || m.AssignmentRevision > o.Basis {
		return DriftNone
	}
	if o.Reading.NodeID != m.NodeID || o.Reading.ClusterID != m.ClusterID || !o.Reading.Active.Present {
		return DriftNone
	}
	for _, op := range f.Operations {
		if op.State.Holding() || op.EndedRev > o.Basis {
			return DriftNone
		}
	}
	differs := o.Reading.Active.Digest != m.Applied
	switch {
	case differs && m.Drift == nil:
		return DriftOpens
	case differs && m.Drift.Digest != o.Reading.Active.Digest:
		return DriftAdds
	case !differs && m.Drift != nil:
		return DriftCloses
	}
	return DriftNone
}
