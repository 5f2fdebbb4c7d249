package drill

import (
	"context"
	"fmt"
	"strconv"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
)

func init() {
	register(Row{
		ID:     "038",
		Case:   "a read begins while an accounting transaction is open: it waits for the machine's lock, and is ordered after it",
		Stores: []config.Engine{config.Postgres}, Bare: true,
		Expect: "began=after a wait; basis=after the accounting; operation=unresolved; accounted=never-left; attempts=1; landings=0; a.exit=4",
		Script: readWhileAccounting,
	})
	register(Row{
		ID: "038C", Control: true, Without: dispatch.Without{dispatch.GuardBasisLock},
		Case:   "the same with the newest revision that can be seen as the basis, without the lock: a read of after is ordered before",
		Stores: []config.Engine{config.Postgres}, Bare: true,
		Expect: "began=at once; basis=before the accounting; operation=unresolved; accounted=never-left; attempts=1; landings=0; a.exit=4",
		Script: readWhileAccounting,
	})
}

// readWhileAccounting holds the transaction that accounts for an attempt at its last statement, whose row another session
// has locked, and has a read begin meanwhile.
func readWhileAccounting(s *Stage) {
	var p *Plan
	s.withEveryGuard(func() {
		s.Import(s.Machine(0))
		p = s.Plan("")
	})
	a := s.Clew("a", []Gate{GateGuard}, []string{"dispatch", p.ID, "--wait", "0"}, Guarded())
	a.Reaches(GateGuard)
	s.UntilTime("the send window is over", s.attempted(p).Add(dispatch.SendWindow))
	release := s.holdRow(fmt.Sprintf("SELECT 1 FROM attempts WHERE operation = '%s' FOR UPDATE", s.Operation(p)))
	a.Opens(GateGuard)
	s.Until("the accounting stands at the locked row", func() bool { return s.Waiting() == 1 })
	before := s.basis(p)
	watched := s.Background("a read of the machine", func(context.Context) error {
		return s.guarded(func() { s.Watch(p.Machine) })
	})
	began := ""
	s.Until("the read has begun, or waits to", func() bool {
		switch {
		case s.basis(p) > before:
			began = "at once"
		case s.Waiting() == 2:
			began = "after a wait"
		}
		return began != ""
	})
	s.Set("began", began)
	release()
	s.must(watched(), "reading the machine")
	a.Ends()
	found := s.Query("basis.sql", "machine", p.Machine.ID)
	order := "before the accounting"
	if accounting, err := strconv.ParseInt(found["accounting"], 10, 64); err != nil || accounting == 0 {
		s.Fail("no accounting is recorded")
	} else if s.basis(p) > accounting {
		order = "after the accounting"
	}
	s.Set("basis", order)
}

// withEveryGuard has the drill's own people act through a store that lacks no guard: what a row prepares needs them.
func (s *Stage) withEveryGuard(f func()) {
	guarded, err := store.Open(s.ctx, store.Config{Location: s.place.location, StateDir: s.stateDir()})
	s.must(err, "opening the row's store with every guard")
	bare := s.ledger
	s.ledger = guarded
	defer func() {
		s.ledger = bare
		s.must(guarded.Close(s.ctx), "closing a store")
	}()
	f()
}

// basis is that of the newest read of the machine that looked for drift, 0 before the first.
func (s *Stage) basis(p *Plan) int64 {
	text := s.Query("basis.sql", "machine", p.Machine.ID)["basis"]
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	s.must(err, "reading the newest basis")
	return n
}
