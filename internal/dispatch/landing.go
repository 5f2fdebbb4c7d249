package dispatch

// Sent is a recorded attempt and the digest that it carried.
type Sent struct {
	Attempt  Attempt
	Artifact string
}

// LateLanding names the lost attempt that a reading may show to have landed after it was accounted for: it carried the
// digest that the reading shows, the node never answered it, and it was accounted for before the reading began. nil
// when no such attempt exists.
func LateLanding(sent []Sent, o Observation) *Attempt {
	var found *Attempt
	for i, s := range sent {
		a := s.Attempt
		if s.Artifact != o.Reading.Active.Digest || a.Accounting == nil || a.Accounting.Revision >= o.Basis {
			continue
		}
		if a.Accounting.Kind == NeverLeft || a.Response.FromTarget() {
			continue
		}
		if found == nil || a.Revision > found.Revision {
			found = &sent[i].Attempt
		}
	}
	return found
}

// VersionMoved says whether the active configuration was written again with identical bytes between two readings, with
// no recorded attempt that would explain it: versions are compared within one boot only.
func VersionMoved(sent []Sent, earlier, later Observation) bool {
	a, b := earlier.Reading, later.Reading
	if a.NodeID != b.NodeID || a.BootID != b.BootID || a.Active.Digest != b.Active.Digest || b.Active.Version <= a.Active.Version {
		return false
	}
	for _, s := range sent {
		if s.Attempt.Revision > earlier.Basis {
			return false // sent since
		}
		if rev, ok := s.Attempt.Accounted(); !ok || rev > earlier.Basis {
			return false // it may have landed since
		}
	}
	return true
}
