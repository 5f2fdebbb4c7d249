package store

import (
	"testing"

	"github.com/clewops/clew/internal/ledger"
)

// The log of anchors says the same as the anchors would: it holds for the entries that they recorded, and for no others.
func TestAnchorLog(t *testing.T) {
	entry := func(revision int64, content byte) ledger.Entry {
		return ledger.Entry{Revision: revision, Hash: ledger.Hash{content}}
	}
	log := func(entries ...ledger.Entry) *anchorLog {
		l := &anchorLog{}
		for _, e := range entries {
			if !l.add(anchor{revision: e.Revision, hash: e.Hash}) {
				t.Fatalf("revision %d was not taken", e.Revision)
			}
		}
		return l
	}
	timeline := []ledger.Entry{entry(1, 1), entry(2, 2), entry(3, 3), entry(4, 4), entry(300, 5)}
	for name, c := range map[string]struct {
		log   *anchorLog
		holds bool
	}{
		"none":               {nil, true},
		"some":               {log(entry(2, 2), entry(4, 4)), true},
		"all":                {log(timeline...), true},
		"twice the same":     {log(entry(2, 2), entry(2, 2), entry(300, 5)), true},
		"another entry":      {log(entry(2, 2), entry(3, 9), entry(4, 4)), false},
		"twice, differing":   {log(entry(2, 2), entry(2, 3)), false},
		"missing in it":      {log(entry(2, 2), entry(7, 7), entry(300, 5)), false},
		"missing at its end": {log(entry(300, 5), entry(301, 6)), false},
	} {
		w := walk(c.log)
		for _, e := range timeline {
			w.entry(e)
		}
		if w.holds() != c.holds {
			t.Errorf("%s: holds is %v", name, w.holds())
		}
	}
	if l := log(entry(5, 5)); l.add(anchor{revision: 4}) {
		t.Error("an anchor that falls back was taken")
	}
}
