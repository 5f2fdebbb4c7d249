package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/clewops/clew/internal/dispatch"
)

// walk makes up a history, one command after the other. What it makes up depends on its seed and on the names in the
// history alone, so that a seed repeats.
type walk struct {
	*Sim
	rng     *rand.Rand
	weights []int           // of the happenings, in this history
	meddles int             // percent of commands that meddle with a process before its comparisons
	queue   []func() string // what follows from earlier commands, "" where it has become pointless; others come in between
}

// lengths of histories, in commands.
const (
	shortest = 25
	longest  = 75
)

// Random runs the history of a seed at the place, until it ends or something does not hold. The history must be closed.
func Random(p *Place, seed uint64) (*Sim, error) {
	s, err := New(p)
	if err != nil {
		return nil, err
	}
	w := &walk{Sim: s, rng: rand.New(rand.NewPCG(seed, 20260301))}
	w.swarm()
	w.later("start x1", "start x2 "+w.oneOf(desk, desk, laptop))
	w.later(w.planOne())
	for range w.between(shortest, longest) {
		if s.Do(w.next()); len(s.broken) > 0 {
			return s, nil
		}
	}
	if w.chance(10) && !s.stale {
		s.Do("verify")
	}
	return s, nil
}

// swarm makes some things frequent in this history, and others impossible: what needs a rare mixture is then met in some
// history, where one mixture for all would never meet it.
func (w *walk) swarm() {
	for _, h := range happenings {
		weight := h.weight
		if !h.always {
			weight *= []int{0, 0, 1, 3}[w.rng.IntN(4)]
		}
		w.weights = append(w.weights, weight)
	}
	w.meddles = []int{0, 5, 15, 25}[w.rng.IntN(4)]
}

// next is the next command.
func (w *walk) next() string {
	if w.chance(w.meddles) {
		if line := w.interfere(); line != "" {
			return line
		}
	}
	for len(w.queue) > 0 && w.chance(70) {
		line := w.queue[0]()
		w.queue = w.queue[1:]
		if line != "" {
			return line
		}
	}
	total := 0
	for _, weight := range w.weights {
		total += weight
	}
	for {
		at := w.rng.IntN(total)
		for i, h := range happenings {
			if at -= w.weights[i]; at >= 0 {
				continue
			}
			if line := h.make(w); line != "" {
				return line
			}
			break
		}
	}
}

// then is a command as it stands, for the queue.
func then(lines ...string) []func() string {
	out := make([]func() string, len(lines))
	for i, line := range lines {
		out[i] = func() string { return line }
	}
	return out
}

func (w *walk) later(lines ...string) { w.queue = append(w.queue, then(lines...)...) }
func (w *walk) soon(lines ...string)  { w.queue = append(then(lines...), w.queue...) }

// on is a number of steps of a process, if it then has something to do.
func (w *walk) on(name string, times int) func() string {
	return func() string {
		i := slices.IndexFunc(w.procs, func(p *proc) bool { return p.name == name })
		if i < 0 || !w.procs[i].alive || w.procs[i].job == "" || w.procs[i].stopped {
			return ""
		}
		return fmt.Sprintf("step %s %d", name, times)
	}
}

func (w *walk) chance(percent int) bool  { return w.rng.IntN(100) < percent }
func (w *walk) between(from, to int) int { return from + w.rng.IntN(to-from+1) }
func (w *walk) oneOf(v ...string) string { return v[w.rng.IntN(len(v))] }
func (w *walk) maybe(percent int, text string) string {
	if w.chance(percent) {
		return text
	}
	return ""
}

// recent picks one of a list, the last ones most often.
func recent[T any](w *walk, list []T) (T, bool) {
	var none T
	if len(list) == 0 {
		return none, false
	}
	return list[max(0, len(list)-1-w.rng.IntN(1+w.rng.IntN(4)))], true
}

func pick[T any](w *walk, list []T) (T, bool) {
	var none T
	if len(list) == 0 {
		return none, false
	}
	return list[w.rng.IntN(len(list))], true
}

func (w *walk) procsThat(fit func(p *proc) bool) []*proc {
	var out []*proc
	for _, p := range w.procs {
		if p.alive && fit(p) {
			out = append(out, p)
		}
	}
	return out
}

func (w *walk) idle() []*proc {
	return w.procsThat(func(p *proc) bool { return p.job == "" && !p.stopped })
}

func (w *walk) busy() []*proc {
	return w.procsThat(func(p *proc) bool { return p.job != "" && !p.stopped })
}

// plans are the names of plans in one of the states.
func (w *walk) plans(states ...dispatch.PlanState) []string {
	var out []string
	for _, id := range w.order["p"] {
		if _, rec := w.plan(id); rec != nil && slices.Contains(states, rec.Standings[id].State) {
			out = append(out, w.names[id])
		}
	}
	return out
}

// operations are the names of operations in one of the states; all without any.
func (w *walk) operations(states ...dispatch.State) []string {
	var out []string
	for _, id := range w.order["o"] {
		if op, rec := w.operation(id); rec != nil && (len(states) == 0 || slices.Contains(states, op.State)) {
			out = append(out, w.names[id])
		}
	}
	return out
}

var holding = []dispatch.State{dispatch.Committed, dispatch.Sending, dispatch.Verifying, dispatch.Unresolved}

func (w *walk) machine() string { return w.oneOf("m1", "m1", "m1", "m2", "m2", "m3") }
func (w *walk) config() string  { return configName(w.rng.IntN(configs)) }
func (w *walk) duration() string {
	return w.oneOf("1s", "3s", "3s", "6s", "6s", "31s", "140s", "140s", "2h", "-500ms", "-5s")
}

// startOne starts a process of the next free name.
func (w *walk) startOne() string {
	return fmt.Sprintf("start x%d %s", len(w.procs)+1, w.oneOf(desk, desk, laptop))
}

// someProc is any process that lives, the owner of the operation most often.
func (w *walk) someProc(op string) string {
	if o, rec := w.operation(w.ids[op]); rec != nil && w.chance(75) {
		if i := slices.IndexFunc(w.procs, func(p *proc) bool { return p.id == o.Owner.Instance && p.alive }); i >= 0 {
			return w.procs[i].name
		}
	}
	p, ok := pick(w, w.procsThat(func(*proc) bool { return true }))
	if !ok {
		return ""
	}
	return p.name
}
