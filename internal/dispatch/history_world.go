package dispatch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/clewops/clew/internal/ledger"
)

// world is what machines' timelines refer to on other scopes.
type world struct {
	epochs     []epochSpan
	identities map[string]int64 // by name: the revision of the revocation, 0 while there is none
	programs   map[string]bool  // identities that are no persons
	hosts      map[string]Host  // by instance
	rollouts   map[string]*slots

	// deciders are the people whom entries before the identities' own name, each with the first of these entries.
	deciders map[string]Problem
}

// epochSpan is what holds from an installation revision on: the recovery epoch, and whether a recovery is under way.
type epochSpan struct {
	revision   int64
	epoch      string
	inRecovery bool
}

// worldBody is what is read of the entries of the installation, of identities and of instances.
type worldBody struct {
	Epoch    string `json:"epoch"`
	Host     Host   `json:"host"`
	Identity struct {
		Kind string `json:"kind"`
	} `json:"identity"`
}

func newWorld() *world {
	return &world{
		identities: map[string]int64{}, programs: map[string]bool{}, hosts: map[string]Host{}, rollouts: map[string]*slots{},
		deciders: map[string]Problem{},
	}
}

// add reads an entry of the installation, of an identity or of an instance.
func (w *world) add(e ledger.Entry, report func(Problem)) {
	problem := func(invariant int, format string, args ...any) {
		report(Problem{Scope: e.Scope, Revision: e.Revision, Invariant: invariant, Text: fmt.Sprintf(format, args...)})
	}
	switch e.Kind {
	case EntryIdentityRevoked:
		if w.identities[e.Scope.ID] == 0 {
			w.identities[e.Scope.ID] = e.Revision
		}
	case EntryIdentityRoles:
		if w.identities[e.Scope.ID] != 0 { // I13
			problem(13, "the identity was revoked at revision %d, and its roles change", w.identities[e.Scope.ID])
		}
	case EntryIdentityCreated, EntryInstanceStarted, EntryInstalled, EntryRecoveryEntered, EntryRecoveryLeft:
		var b worldBody
		if err := json.Unmarshal(e.Body, &b); err != nil {
			problem(0, "the body cannot be read: %v", err)
			return
		}
		switch e.Kind {
		case EntryIdentityCreated:
			w.identities[e.Scope.ID] = 0
			w.programs[e.Scope.ID] = b.Identity.Kind == "token" || b.Identity.Kind == "agent"
		case EntryInstanceStarted:
			w.hosts[e.Scope.ID] = b.Host
		default:
			w.epoch(e, b, problem)
		}
	}
	switch e.Kind {
	case EntryInstanceAttested, EntryRecoveryEntered, EntryRecoveryLeft, EntryClockStep: // I11
		w.decided(e, report)
	}
}

// The two roles that only people hold.
const (
	approveRole = "approver"
	judgeRole   = "recovery-admin"
)

// decided: a person who may judge decided an entry of a scope that may be read before the identities are; whether the
// person exists is asked at the end. I11
func (w *world) decided(e ledger.Entry, report func(Problem)) {
	p := Problem{Scope: e.Scope, Revision: e.Revision, Invariant: 11}
	if p.Text = misplaced(e.Actor, judgeRole); p.Text != "" {
		report(p)
		return
	}
	if _, known := w.deciders[e.Actor.Identity]; !known {
		w.deciders[e.Actor.Identity] = p
	}
}

// notPerson says why the actor is no known identity in the role, "" when it is.
func (w *world) notPerson(a ledger.Actor, role string) string {
	if why := misplaced(a, role); why != "" {
		return why
	}
	switch {
	case !w.knowsIdentity(a.Identity):
		return "identity " + a.Identity + " does not exist"
	case w.programs[a.Identity] && (role == approveRole || role == judgeRole):
		return a.Identity + " decided it, and is no person"
	}
	return ""
}

// misplaced says why the actor is nobody in the role, "" when it is somebody. An empty role demands none.
func misplaced(a ledger.Actor, role string) string {
	switch {
	case a.Identity == "":
		return "nobody is named who decided it"
	case role != "" && a.Role == "":
		return a.Identity + " decided it in no role, it takes " + role
	case role != "" && a.Role != role:
		return a.Identity + " decided it as " + a.Role + ", it takes " + role
	}
	return ""
}

// epoch: a recovery issues an epoch that was never in force before; leaving it keeps the epoch. I8
func (w *world) epoch(e ledger.Entry, b worldBody, problem func(int, string, ...any)) {
	span := epochSpan{revision: e.Revision, epoch: b.Epoch, inRecovery: e.Kind == EntryRecoveryEntered}
	switch {
	case e.Kind == EntryRecoveryLeft:
		span.epoch = w.lastEpoch()
		if b.Epoch != "" && b.Epoch != span.epoch {
			problem(8, "the recovery of epoch %s ends, in force was %s", b.Epoch, span.epoch)
		}
	case b.Epoch == "":
		problem(8, "the entry names no recovery epoch")
	case w.knowsEpoch(b.Epoch):
		problem(8, "recovery epoch %s was in force before", b.Epoch)
	}
	w.epochs = append(w.epochs, span)
}

// at is what held at an installation revision.
func (w *world) at(revision int64) (epochSpan, bool) {
	i, exact := slices.BinarySearchFunc(w.epochs, revision, func(s epochSpan, r int64) int { return cmp.Compare(s.revision, r) })
	if !exact {
		i--
	}
	if i < 0 {
		return epochSpan{}, false
	}
	return w.epochs[i], true
}

func (w *world) epochAt(revision int64) (string, bool) {
	s, ok := w.at(revision)
	return s.epoch, ok
}

func (w *world) inRecovery(revision int64) bool {
	s, _ := w.at(revision)
	return s.inRecovery
}

func (w *world) lastEpoch() string {
	if len(w.epochs) == 0 {
		return ""
	}
	return w.epochs[len(w.epochs)-1].epoch
}

func (w *world) knowsEpoch(epoch string) bool {
	return slices.ContainsFunc(w.epochs, func(s epochSpan) bool { return s.epoch == epoch })
}

func (w *world) knowsIdentity(name string) bool {
	_, ok := w.identities[name]
	return ok
}

// revokedAt is the revision of an identity's revocation on its own scope, 0 while there is none.
func (w *world) revokedAt(name string) int64 { return w.identities[name] }

func (w *world) hostOf(instance string) (Host, bool) {
	h, ok := w.hosts[instance]
	return h, ok
}

// slots is the rollout's state, made on first use.
func (w *world) slots(id string) *slots {
	if w.rollouts[id] == nil {
		w.rollouts[id] = &slots{id: id, taken: map[string]int64{}, freed: map[string]int64{}}
	}
	return w.rollouts[id]
}

// slotOf says at which revisions of the rollout the operation took its slot and freed it, and that it was asked for.
func (w *world) slotOf(rollout, op string) (taken, freed int64) {
	s := w.slots(rollout)
	taken, freed = s.taken[op], s.freed[op]
	delete(s.taken, op)
	return taken, freed
}

// end reports what rollouts counted and no machine's timeline knows, and limits wider than a plan binds. I15
func (w *world) end(report func(Problem)) {
	for _, name := range slices.Sorted(maps.Keys(w.deciders)) {
		p := w.deciders[name]
		if p.Text = w.notPerson(ledger.Actor{Identity: name, Role: judgeRole}, judgeRole); p.Text != "" {
			report(p)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.rollouts)) {
		s := w.rollouts[id]
		scope := ledger.Scope{Kind: ledger.Rollout, ID: id}
		for _, op := range slices.Sorted(maps.Keys(s.taken)) {
			report(Problem{Scope: scope, Revision: s.taken[op], Record: op, Invariant: 15, Text: "no machine's timeline holds this operation as one of the rollout"})
		}
		if s.boundLimit != 0 && (s.row.Limit > s.boundLimit || s.row.MaxFailed > s.boundFailed) {
			report(Problem{Scope: scope, Revision: s.last, Invariant: 15, Text: fmt.Sprintf(
				"the limits in force are %d open and %d failed, the smallest that its plans bind are %d and %d",
				s.row.Limit, s.row.MaxFailed, s.boundLimit, s.boundFailed)})
		}
	}
}
