package store

import (
	"encoding/json"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// eras is which clock era held from which revision of the installation's chain on.
type eras []eraSpan

type eraSpan struct{ revision, era int64 }

// add reads an entry of the installation's chain.
func (s *eras) add(e ledger.Entry) {
	if e.Kind == dispatch.EntryAnchored {
		return
	}
	var b InstallationBody
	if json.Unmarshal(e.Body, &b) != nil || b.Era == 0 {
		return // History says so
	}
	*s = append(*s, eraSpan{revision: e.Revision, era: b.Era})
}

// at is the era in force after an installation revision.
func (s eras) at(revision int64) int64 {
	var era int64
	for _, span := range s {
		if span.revision <= revision {
			era = span.era
		}
	}
	return era
}

// possible says whether a scope's head can have the era: any that was in force, not later than when its last entry was
// anchored. The installation's own entries say exactly; the one that records a step may stand on either side of it.
func (s eras) possible(era int64, last ledger.Entry, anchored anchor) bool {
	if last.Scope.Kind == ledger.Installation {
		return era == s.at(last.Revision) || (last.Kind == dispatch.EntryClockStep && era == s.at(last.Revision-1))
	}
	var known bool
	for _, span := range s {
		known = known || span.era == era
	}
	return known && (anchored.revision != last.Revision || era <= s.at(anchored.by))
}
