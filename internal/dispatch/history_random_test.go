package dispatch

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/ledger"
)

// Whatever entries say, they are judged and never trip the judge: bodies are changed, entries dropped, repeated and
// exchanged at random.
func TestHistoryReadsAnything(t *testing.T) {
	rounds := 150
	if testing.Short() {
		rounds = 40
	}
	for _, name := range slices.Sorted(maps.Keys(sound)) {
		s := newTale(t)
		began(s)
		sound[name](s)
		for seed := range uint64(rounds) {
			garble(t, name, seed, s.entries)
		}
	}
}

func garble(t *testing.T, name string, seed uint64, entries map[ledger.Scope][]ledger.Entry) {
	r := rand.New(rand.NewPCG(seed, 1))
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s, seed %d: %v", name, seed, p)
		}
	}()
	h := NewHistory(func(Problem) {})
	for _, kind := range HistoryOrder {
		for _, scope := range slices.SortedFunc(maps.Keys(entries), byName) {
			if scope.Kind != kind {
				continue
			}
			for _, e := range garbled(r, entries[scope]) {
				if err := h.Add(e); err != nil {
					t.Errorf("%s, seed %d: %v", name, seed, err)
				}
			}
		}
	}
	h.End()
}

func byName(a, b ledger.Scope) int { return strings.Compare(a.String(), b.String()) }

// garbled is the timeline with a few of its entries changed.
func garbled(r *rand.Rand, entries []ledger.Entry) []ledger.Entry {
	out := slices.Clone(entries)
	for range 1 + r.IntN(3) {
		i, j := r.IntN(len(out)), r.IntN(len(out))
		switch r.IntN(8) {
		case 0:
			out[i], out[j] = out[j], out[i]
		case 1:
			out = append(out, out[i])
		case 2:
			out[i].Kind = out[j].Kind
		case 3:
			out[i].Body = out[j].Body
		default:
			var v any
			if json.Unmarshal(out[i].Body, &v) == nil {
				out[i].Body, _ = json.Marshal(changed(r, v))
			}
		}
	}
	return out
}

// changed is a JSON value of which one part is something else.
func changed(r *rand.Rand, v any) any {
	others := []any{nil, "", "op-1", "p-1", "x1", "completed", "sending", "e1", -1.0, 0.0, 1.0, 7.0, 1e15, true, []any{}, map[string]any{}}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 || r.IntN(6) == 0 {
			break
		}
		keys := slices.Sorted(maps.Keys(v))
		k := keys[r.IntN(len(keys))]
		if r.IntN(5) == 0 {
			delete(v, k)
		} else {
			v[k] = changed(r, v[k])
		}
		return v
	case []any:
		if len(v) > 0 {
			i := r.IntN(len(v))
			v[i] = changed(r, v[i])
			return v
		}
	}
	return others[r.IntN(len(others))]
}
