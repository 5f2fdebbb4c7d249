package sim

import (
	"bytes"
	"fmt"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// judge reads what was written since the last time and checks that every invariant holds: by the ledger alone, and by
// what really happened to the nodes.
func (s *Sim) judge() error {
	if !s.wrote {
		return nil
	}
	s.wrote = false
	entries, err := s.reader.next()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if bytes.Contains(e.Body, []byte(marker)) {
			s.breaks(7, "an entry of kind %s holds a plaintext configuration", e.Kind)
		}
		before := s.before(e)
		s.follow.Add(e)
		s.note(e, before)
	}
	if len(entries) > 0 {
		s.follow.Stand()
	}
	s.land()
	return nil
}

// problem is what the history reader found.
func (s *Sim) problem(p dispatch.Problem) {
	s.broken = append(s.broken, Fault{Invariant: p.Invariant, Text: p.String()})
}

// breaks is what the world shows.
func (s *Sim) breaks(invariant int, format string, args ...any) {
	s.broken = append(s.broken, Fault{Invariant: invariant, Text: fmt.Sprintf("world: I%d: ", invariant) + fmt.Sprintf(format, args...)})
}

// before is how the machine of an entry stood before it.
func (s *Sim) before(e ledger.Entry) moment {
	var m moment
	if e.Scope.Kind != ledger.Machine {
		return m
	}
	rec := s.follow.Records(e.Scope.ID)
	if rec == nil {
		return m
	}
	m.states = make(map[string]dispatch.State, len(rec.Operations))
	for id, op := range rec.Operations {
		m.states[id] = op.State
	}
	m.plans = make(map[string]dispatch.PlanState, len(rec.Standings))
	for id, st := range rec.Standings {
		m.plans[id] = st.State
	}
	if rec.Machine != nil {
		m.baseline, m.drift = rec.Machine.BaselineRevision, rec.Machine.Drift != nil
	}
	return m
}

// moment is what of a machine's records the simulation compares.
type moment struct {
	states   map[string]dispatch.State
	plans    map[string]dispatch.PlanState
	baseline int64
	drift    bool
}

// tell says what an entry records that moves no state.
func (s *Sim) tell(e ledger.Entry, rec *dispatch.Records) {
	switch e.Kind {
	case dispatch.EntryApproved:
		for id, a := range rec.Approvals {
			if a.Revision == e.Revision {
				s.name("a", id)
			}
		}
	case dispatch.EntryAccounted, dispatch.EntryResponse:
		for k, a := range rec.Attempts {
			if x := a.Accounting; x != nil && x.Revision == e.Revision {
				s.moves(fmt.Sprintf("%s/%d", s.names[k.Operation], k.Number), "accounted for: "+string(x.Kind))
			}
			if x := a.Response; x != nil && x.Revision == e.Revision {
				s.moves(fmt.Sprintf("%s/%d", s.names[k.Operation], k.Number), "answered: "+string(x.Class))
			}
		}
	case dispatch.EntryClassified:
		for id, op := range rec.Operations {
			if op.Retry != nil && op.Retry.Revision == e.Revision {
				s.moves(s.names[id], "safe to retry")
			}
		}
	case dispatch.EntryTakenOver, dispatch.EntryAlert, dispatch.EntryVersionMoved:
		s.moves(s.names[e.Scope.ID], e.Kind)
	}
}

// note names what an entry brings, tells of what it moves, and compares that with the world.
func (s *Sim) note(e ledger.Entry, before moment) {
	if e.Scope.Kind != ledger.Machine {
		return
	}
	rec := s.follow.Records(e.Scope.ID)
	for id, st := range rec.Standings {
		if st.State == before.plans[id] {
			continue
		}
		s.moves(s.name("p", id), string(st.State))
	}
	for id, op := range rec.Operations {
		if op.State == before.states[id] {
			continue
		}
		s.moves(s.name("o", id), string(op.State))
		if op.State.Terminal() && !s.rereading {
			s.ended(op)
		}
	}
	s.tell(e, rec)
	if m := rec.Machine; m != nil && before.drift != (m.Drift != nil) {
		s.moves(s.names[m.ID], map[bool]string{true: "drifts", false: "drifts no more"}[m.Drift != nil])
	}
	if m := rec.Machine; m != nil && !s.rereading && before.baseline != 0 && m.BaselineRevision != before.baseline {
		s.applied(*m, rec)
	}
}

func (s *Sim) moves(name, state string) { s.moved = append(s.moved, name+" "+state) }

// name is the name of a record, given on first sight.
func (s *Sim) name(prefix, id string) string {
	if s.names[id] == "" {
		s.order[prefix] = append(s.order[prefix], id)
		name := fmt.Sprintf("%s%d", prefix, len(s.order[prefix]))
		s.names[id], s.ids[name] = name, id
		s.appeared[id] = len(s.steps)
	}
	return s.names[id]
}

// applied: the node really ran what counts as applied now, at some time since the operation's plan began to be carried
// out. I3
func (s *Sim) applied(m dispatch.Machine, rec *dispatch.Records) {
	n, op := s.nodeOf(m.ID), rec.Operations[m.AppliedSource]
	since := s.appeared[op.ID]
	if op.Kind == dispatch.KindAdopt {
		since = s.appeared[op.Plan]
	}
	if n.reading.Active.Digest != m.Applied && n.shown[m.Applied] < since {
		s.breaks(3, "%s counts as running %s, which its node did not run since %s", n.name, dispatch.ShortDigest(m.Applied), s.names[op.ID])
	}
}

// ended: no request of the operation can still reach the node, unless a person judged so: that is a judgement, and never
// a bound. I5
func (s *Sim) ended(op dispatch.Operation) {
	for _, f := range s.flights {
		if f.key.Operation == op.ID && f.pending() && !s.judged(f) {
			s.breaks(5, "%s is %s, and its request %s can still arrive", s.names[op.ID], op.State, f.name)
		}
	}
}

// judged says whether a person's decision, or a restore, stands between a request and what the ledger says of it.
func (s *Sim) judged(f *flight) bool {
	a, ok := s.attempt(f.key)
	return f.rewound || !ok || a.Accounting != nil && (a.Accounting.Kind == dispatch.ByDecision || a.Accounting.Kind == dispatch.PreRestoreEnd)
}

func (s *Sim) attempt(k dispatch.AttemptKey) (dispatch.Attempt, bool) {
	for _, n := range s.nodes {
		if rec := s.follow.Records(s.place.names.machines[n.name]); rec != nil {
			if a, ok := rec.Attempts[k]; ok {
				return a, true
			}
		}
	}
	return dispatch.Attempt{}, false
}

// send is a request that leaves now. It is judged by what the ledger says at this moment. I2
func (s *Sim) send(c *conn, artifact string) *flight {
	p := c.p
	f := &flight{name: fmt.Sprintf("f%d", len(s.flights)+1), key: p.sending, machine: c.n, artifact: artifact, conn: c}
	if err := s.judge(); err != nil {
		s.fails(err)
	}
	if why := s.mayNotSend(f, p); why != "" {
		s.breaks(2, "%s sends %s: %s", p.name, f.name, why)
	}
	for _, other := range s.flights {
		if other.pending() && other.machine == c.n && other.key.Operation != f.key.Operation && !s.judged(other) {
			s.breaks(1, "%s is sent while %s of another operation can still arrive", f.name, other.name)
		}
	}
	s.flights = append(s.flights, f)
	s.moved = append(s.moved, fmt.Sprintf("%s leaves for %s", f.name, c.n.name))
	return f
}

func (s *Sim) mayNotSend(f *flight, p *proc) string {
	rec := s.follow.Records(s.place.names.machines[f.machine.name])
	a, ok := rec.Attempts[f.key]
	op := rec.Operations[f.key.Operation]
	_, accounted := a.Accounted()
	switch {
	case !ok:
		return "the ledger holds no such attempt"
	case a.By != p.sentBy || a.By.Instance != p.id:
		return "the attempt is another's"
	case accounted || a.Response != nil:
		return "its attempt is accounted for"
	case op.Owner != p.sentBy:
		return "another owns the operation"
	case op.State != dispatch.Sending:
		return "the operation is " + string(op.State)
	case rec.Plans[op.Plan].Artifact != f.artifact:
		return "the plan binds another configuration"
	case s.elapsed-p.beganAt >= dispatch.SendWindow:
		return fmt.Sprintf("its attempt was begun %s ago", s.elapsed-p.beganAt)
	}
	return ""
}

// land lets nodes remember what they ran, and judges requests that reached them: none whose attempt was shown before to
// be unable to. I6
func (s *Sim) land() {
	for _, n := range s.nodes {
		n.shown[n.reading.Active.Digest] = len(s.steps)
	}
}

// arrives judges a request at the moment at which it reaches its node. I6
func (s *Sim) arrives(f *flight) {
	a, ok := s.attempt(f.key)
	if !ok || f.rewound || a.Accounting == nil {
		return
	}
	switch a.Accounting.Kind {
	case dispatch.CannotArrive, dispatch.NeverLeft:
		s.breaks(6, "%s arrives after it was accounted for as %s", f.name, a.Accounting.Kind)
	case dispatch.ByDecision, dispatch.PreRestoreEnd: // a judgement, not a bound
	}
}
