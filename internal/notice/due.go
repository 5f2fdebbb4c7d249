package notice

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/clewops/clew/internal/graph"
)

// due is what time alone will change: a spot, an act's end, or an interest's.
type due struct {
	at      time.Time
	spot    *spot
	act     *tracked
	session *session
	node    graph.Name
}

// dueHeap orders by time. What is no longer due is looked at in vain; that is cheaper than finding it.
type dueHeap []due

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is for package heap.
func (h *dueHeap) Push(x any) { *h = append(*h, x.(due)) }

// Pop is for package heap.
func (h *dueHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = due{}
	*h = old[:len(old)-1]
	return x
}

func (b *Book) push(at time.Time, d due) {
	d.at = at
	heap.Push(&b.due, d)
}

// Next is when time alone will change something, if it will.
func (b *Book) Next() (time.Time, bool) {
	if len(b.due) == 0 {
		return time.Time{}, false
	}
	return b.due[0].at, true
}

// Judge lets time pass: whatever is due by now is judged, told or closed.
func (b *Book) Judge(now time.Time) []Entry {
	spots := map[*spot]bool{}
	acts := map[*tracked]bool{}
	sessions := map[*session]bool{}
	for len(b.due) > 0 && !b.due[0].at.After(now) {
		d := heap.Pop(&b.due).(due)
		switch {
		case d.spot != nil:
			spots[d.spot] = true
		case d.act != nil:
			acts[d.act] = true
		default:
			if until, ok := d.session.interests[d.node]; ok && !until.After(now) {
				b.dropInterest(d.session, d.node)
				sessions[d.session] = true
			}
		}
	}
	entries := b.judgeAll(spots, now)
	for _, t := range inOrder(acts) {
		if b.acts[t.act.ID] != t || t.act.End.IsZero() || t.active(now) || t.done {
			continue
		}
		t.done = true
		entries = append(entries, b.measure(t, now)...)
		entries = append(entries, b.tellAll(t, now)...)
	}
	list := make([]*session, 0, len(sessions))
	for x := range sessions {
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b *session) int { return cmp.Compare(a.ID, b.ID) })
	for _, x := range list {
		told := map[*tracked]bool{}
		for t := range x.notices {
			told[t] = true
		}
		for _, t := range inOrder(told) {
			entries = append(entries, b.tell(t, x, now)...)
		}
	}
	return entries
}
