package dispatch

import (
	"testing"
	"time"
)

// toMark is a machine after a restore at 11:00: last written at 10:59, first read and settled since.
func toMark() RecoveryFacts {
	entered := noon.Add(-time.Hour)
	frame := observed(70, someReading())
	frame.Purpose, frame.StartedAt = ForRecovery, entered.Add(10*time.Minute+MaximumSettle)
	m := someMachine()
	m.Recovery = PreRestore
	return RecoveryFacts{
		Machine: m, Epoch: epoch2, InRecovery: true, Reason: "the disk was restored", LastBefore: entered.Add(-time.Minute), Marked: 60,
		FirstRead: entered.Add(10 * time.Minute), FirstReads: map[Route]time.Time{}, Frame: frame, SettleFloor: MinimumSettle,
	}
}

func TestI6I11MarksTakeAllTheirConditions(t *testing.T) {
	unaccounted := func(f *RecoveryFacts, first time.Duration) {
		f.Unaccounted = []Attempt{lostAttempt(1, 30)}
		f.Unaccounted[0].StartedAt = f.LastBefore
		f.FirstReads[Via("10.0.0.1")] = f.FirstRead.Add(first)
	}
	accounted := func(f *RecoveryFacts) {
		f.Machine.Recovery = RecoveryUnresolved
		f.Frame, f.FirstRead = nil, time.Time{}
	}
	open := func(f *RecoveryFacts) { f.Open = []Operation{someOperation(Unresolved)} }
	for name, c := range map[string]struct {
		change func(*RecoveryFacts)
		to     RecoveryMark
		code   string
	}{
		"ready":                           {func(*RecoveryFacts) {}, RecoveryReady, ""},
		"blocked":                         {func(*RecoveryFacts) {}, RecoveryBlocked, ""},
		"unresolved":                      {open, RecoveryUnresolved, ""},
		"ready with an operation open":    {open, RecoveryReady, "operation-open"},
		"no such mark":                    {func(*RecoveryFacts) {}, "fine", "mark"},
		"back to unaccounted":             {func(*RecoveryFacts) {}, PreRestore, "mark"},
		"no mark at all":                  {func(*RecoveryFacts) {}, NoRecovery, "mark"},
		"no recovery":                     {func(f *RecoveryFacts) { f.InRecovery = false }, RecoveryReady, "not-entered"},
		"not closed in this epoch":        {func(f *RecoveryFacts) { f.Marked = 0 }, RecoveryReady, "not-entered"},
		"without a reason":                {func(f *RecoveryFacts) { f.Reason = "" }, RecoveryReady, "no-reason"},
		"an instance may run":             {func(f *RecoveryFacts) { f.Running = []string{"x1"} }, RecoveryReady, "instances-running"},
		"a floor too low":                 {func(f *RecoveryFacts) { f.SettleFloor = MinimumSettle - 1 }, RecoveryReady, "settle-floor"},
		"never read":                      {func(f *RecoveryFacts) { f.FirstRead = time.Time{} }, RecoveryReady, "settle-time"},
		"no frame":                        {func(f *RecoveryFacts) { f.Frame = nil }, RecoveryReady, "settle-time"},
		"a frame of another purpose":      {func(f *RecoveryFacts) { f.Frame.Purpose = ForDrift }, RecoveryReady, "settle-time"},
		"a frame begun with the mark":     {func(f *RecoveryFacts) { f.Frame.Basis = 60 }, RecoveryReady, "settle-time"},
		"a moment before the settling":    {func(f *RecoveryFacts) { f.Frame.StartedAt = f.Frame.StartedAt.Add(-1) }, RecoveryReady, "settle-time"},
		"a lost attempt, settled":         {func(f *RecoveryFacts) { unaccounted(f, 0) }, RecoveryReady, ""},
		"its route was read later":        {func(f *RecoveryFacts) { unaccounted(f, 1) }, RecoveryReady, "settle-time"},
		"its route was never read":        {func(f *RecoveryFacts) { unaccounted(f, 0); f.FirstReads = nil }, RecoveryReady, "settle-time"},
		"marked anew":                     {accounted, RecoveryReady, ""},
		"marked anew with a lost attempt": {func(f *RecoveryFacts) { accounted(f); unaccounted(f, 0) }, RecoveryReady, "unaccounted"},
	} {
		f := toMark()
		c.change(&f)
		wantCode(t, name, CheckMark(f, c.to), c.code)
	}
}

func TestI8ReleaseTakesAnAccountedMachine(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*RecoveryFacts)
		code   string
	}{
		"ready":                     {func(*RecoveryFacts) {}, ""},
		"no recovery":               {func(f *RecoveryFacts) { f.InRecovery = false }, "not-entered"},
		"not closed":                {func(f *RecoveryFacts) { f.Marked = 0 }, "not-entered"},
		"released already":          {func(f *RecoveryFacts) { f.Machine.ReleasedEpoch = epoch2 }, "released"},
		"released before":           {func(f *RecoveryFacts) { f.Machine.ReleasedEpoch = epoch1 }, ""},
		"unaccounted":               {func(f *RecoveryFacts) { f.Machine.Recovery = PreRestore }, "not-ready"},
		"blocked":                   {func(f *RecoveryFacts) { f.Machine.Recovery = RecoveryBlocked }, "not-ready"},
		"with an operation open":    {func(f *RecoveryFacts) { f.Open = []Operation{someOperation(Unresolved)} }, "operation-open"},
		"while an instance may run": {func(f *RecoveryFacts) { f.Running = []string{"x1"} }, "instances-running"},
	} {
		f := toMark()
		f.Machine.Recovery = RecoveryReady
		c.change(&f)
		wantCode(t, name, CheckRelease(f), c.code)
	}
}

func TestI8NoMachineIsLeftBehind(t *testing.T) {
	machine := func(change func(*Machine)) []Machine {
		m := someMachine()
		change(&m)
		return []Machine{m}
	}
	for name, c := range map[string]struct {
		machines   []Machine
		inRecovery bool
		code       string
	}{
		"none":               {nil, true, ""},
		"no recovery":        {nil, false, "not-entered"},
		"released":           {machine(func(m *Machine) { m.ReleasedEpoch = epoch2 }), true, ""},
		"released before":    {machine(func(m *Machine) { m.ReleasedEpoch = epoch1 }), true, "not-released"},
		"not released":       {machine(func(*Machine) {}), true, "not-released"},
		"blocked":            {machine(func(m *Machine) { m.Recovery = RecoveryBlocked }), true, "not-released"},
		"blocked and frozen": {machine(func(m *Machine) { m.Recovery, m.Frozen = RecoveryBlocked, true }), true, ""},
		"ready and frozen":   {machine(func(m *Machine) { m.Recovery, m.Frozen = RecoveryReady, true }), true, "not-released"},
		"a control plane":    {machine(func(m *Machine) { m.Assignment.Role = ControlPlane }), true, ""},
	} {
		wantCode(t, name, CheckLeave(c.machines, epoch2, c.inRecovery), c.code)
	}
}
