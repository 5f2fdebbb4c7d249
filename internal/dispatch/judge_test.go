package dispatch

import (
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/refusal"
)

func TestJudgePostconditions(t *testing.T) {
	done := func(change func(*Reading)) Reading {
		r := shows(someReading())
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		r    Reading
		boot string
		want Judgement
		why  string
	}{
		"shown":                       {done(func(*Reading) {}), "b1", Shows, ""},
		"before anything was sent":    {done(func(*Reading) {}), "", Shows, ""},
		"not ready":                   {done(func(r *Reading) { r.Ready = false }), "b1", Shows, ""}, // readiness is a precondition only
		"rebooting":                   {done(func(r *Reading) { r.Stage = "rebooting" }), "b1", NotComplete, "rebooting"},
		"upgrading":                   {done(func(r *Reading) { r.Stage = "upgrading" }), "b1", NotComplete, "upgrading"},
		"shutting down":               {done(func(r *Reading) { r.Stage = "shutting down" }), "b1", NotComplete, "shutting down"},
		"resetting":                   {done(func(r *Reading) { r.Stage = "resetting" }), "b1", NotComplete, "resetting"},
		"another node":                {done(func(r *Reading) { r.NodeID = "n-2" }), "b1", Contradicts, "another machine"},
		"another cluster":             {done(func(r *Reading) { r.ClusterID = "c-2" }), "b1", Contradicts, "another machine"},
		"another role":                {done(func(r *Reading) { r.Role = ControlPlane }), "b1", Contradicts, "assignment"},
		"booting":                     {done(func(r *Reading) { r.Stage = "booting" }), "b1", Contradicts, "stage"},
		"another configuration":       {done(func(r *Reading) { r.Active.Digest = strange }), "b1", Contradicts, "active"},
		"no configuration":            {done(func(r *Reading) { r.Active = Resource{} }), "b1", Contradicts, "active"},
		"another one at the next":     {done(func(r *Reading) { r.Persistent.Digest = oldDigest }), "b1", Contradicts, "next boot"},
		"none at the next, same boot": {done(func(r *Reading) { r.Persistent = Resource{} }), "b1", Contradicts, "not booted"},
		"none at the next, new boot":  {done(func(r *Reading) { r.Persistent, r.BootID = Resource{}, "b2" }), "b1", Shows, ""},
		"none at the next, unsent":    {done(func(r *Reading) { r.Persistent, r.BootID = Resource{}, "b2" }), "", Contradicts, "not booted"},
	} {
		got, why := JudgePostconditions(somePlan(), someMachine(), c.boot, c.r)
		if got != c.want || !strings.Contains(why, c.why) || (why == "") != (got == Shows) {
			t.Errorf("%s: it %s (%s), want %s", name, got, why, c.want)
		}
	}
	m := someMachine()
	m.AssignmentRevision++ // I9
	if got, _ := JudgePostconditions(somePlan(), m, "b1", shows(someReading())); got != Contradicts {
		t.Errorf("with another assignment it %s", got)
	}
}

func TestI6AccountedFor(t *testing.T) {
	none := Attempt{}
	accounting := func(rev int64) *Accounting { return &Accounting{Kind: NeverLeft, Revision: rev} }
	for name, c := range map[string]struct {
		a    Attempt
		rev  int64
		want bool
	}{
		"nothing recorded":         {none, 0, false},
		"no answer":                {lostAttempt(1, 30), 0, false},
		"accepted":                 {answered(1, 30, Accepted), 31, true},
		"rejected":                 {answered(1, 30, RejectedDef), 31, true},
		"of a class nobody knows":  {answered(1, 30, ""), 0, false},
		"of a class to come":       {answered(1, 30, "deferred"), 0, false},
		"accounted for":            {Attempt{Accounting: accounting(35)}, 35, true},
		"accounted for, no answer": {accountedAttempt(1, 30, 35), 35, true},
	} {
		if rev, ok := c.a.Accounted(); rev != c.rev || ok != c.want {
			t.Errorf("%s: %d, %v", name, rev, ok)
		}
	}
	for name, c := range map[string]struct {
		attempts []Attempt
		last     int64
		all      bool
	}{
		"none":              {nil, 0, true},
		"one open":          {[]Attempt{answered(1, 30, Accepted), lostAttempt(2, 40)}, 0, false},
		"both":              {[]Attempt{accountedAttempt(1, 30, 50), answered(2, 40, Accepted)}, 50, true},
		"a later no-answer": {[]Attempt{amendAttempt(accountedAttempt(1, 30, 35), func(a *Attempt) { a.Response.Revision = 60 })}, 60, true},
	} {
		if last, all := AllAccounted(c.attempts); last != c.last || all != c.all {
			t.Errorf("%s: %d, %v", name, last, all)
		}
		if CompletionBasis(c.attempts, c.last) && c.all && c.last > 0 {
			t.Errorf("%s: a reading begun with the last one counts", name)
		}
		if CompletionBasis(c.attempts, c.last+1) != c.all {
			t.Errorf("%s: a reading begun after the last one", name)
		}
	}
}

func TestI6SafeToRetry(t *testing.T) {
	lost := someCase(Unresolved, accountedAttempt(1, 30, 35))
	for name, c := range map[string]struct {
		c     Case
		basis int64
		r     Reading
		code  string
	}{
		"as it is":                    {lost, 36, someReading(), ""},
		"begun with the accounting":   {lost, 35, someReading(), "old-observation"},
		"never sent":                  {someCase(Unresolved), 36, someReading(), ""},
		"unaccounted":                 {someCase(Unresolved, lostAttempt(1, 30)), 36, someReading(), "unaccounted"},
		"unknown answer":              {someCase(Unresolved, answered(1, 30, "")), 36, someReading(), "unaccounted"},
		"accepted":                    {someCase(Unresolved, yes), 36, someReading(), "no-retry"},
		"rejected":                    {someCase(Unresolved, refused), 36, someReading(), "no-retry"},
		"attempts used up":            {amend(lost, func(c *Case) { c.Plan.MaxAttempts = 1 }), 36, someReading(), "no-retry"},
		"cancelled":                   {amend(lost, func(c *Case) { c.Standing.CancelledRev = 60 }), 36, someReading(), "no-retry"},
		"expires now":                 {amend(lost, func(c *Case) { c.Now = c.Plan.ExpiresAt }), 36, someReading(), "no-retry"},
		"an approval revoked":         {amend(lost, func(c *Case) { c.Approvals[0].RevokedRevision = 60 }), 36, someReading(), "no-retry"},
		"after a restore":             {amend(lost, func(c *Case) { c.Op.PreRestore = true }), 36, someReading(), "no-retry"},
		"frozen":                      {amend(lost, func(c *Case) { c.Machine.Frozen = true }), 36, someReading(), "gate-closed"},
		"in recovery":                 {amend(lost, func(c *Case) { c.InRecovery = true }), 36, someReading(), "gate-closed"},
		"something else runs":         {lost, 36, runs(strange), "other-digest"},
		"the artifact runs":           {lost, 36, runs(newDigest), "already-there"},
		"a change is staged":          {lost, 36, shownAt(oldDigest, strange), "not-quiescent"},
		"rebooting":                   {lost, 36, readingIn("rebooting", someReading()), "in-transition"},
		"another node":                {lost, 36, ofNode("n-2", someReading()), "other-machine"},
		"control: without accounting": {amend(someCase(Unresolved, lostAttempt(1, 30)), func(c *Case) { c.Without = Without{GuardAccounting} }), 36, someReading(), "old-observation"},
	} {
		r := SafeToRetry(c.c, *observed(c.basis, c.r))
		if (r == nil) != (c.code == "") || r != nil && (r.Code != c.code || r.Comparison != refusal.None) {
			t.Errorf("%s: %v, want %q", name, r, c.code)
		}
	}
}

// shownAt is a reading of a node whose two resources differ.
func shownAt(active, persistent string) Reading {
	r := runs(active)
	r.Persistent.Digest = persistent
	return r
}

func TestClassify(t *testing.T) {
	c := someCase(Unresolved, accountedAttempt(1, 30, 35))
	o := observed(40, someReading())
	op, r := Classify(c, executor1, o, []Observation{*observed(44, someReading())}, 42)
	if r != nil || op.Retry == nil || *op.Retry != (Classification{Revision: 42, By: executor1, Basis: 40}) || op.State != Unresolved {
		t.Errorf("%+v, %v", op, r)
	}
	later := func(r Reading) []Observation { return []Observation{*observed(44, r)} }
	for name, x := range map[string]struct {
		c     Case
		by    Owner
		o     *Observation
		later []Observation
		code  string
	}{
		"not unresolved":        {someCase(Verifying, yes), executor1, o, nil, "no-transition"},
		"by another":            {c, Owner{Instance: "x2", Generation: 1, Epoch: epoch1}, o, nil, "not-owner"},
		"in another epoch":      {amend(c, func(c *Case) { c.Epoch = epoch2 }), executor1, o, nil, "other-epoch"},
		"nothing observed":      {c, executor1, nil, nil, "no-observation"},
		"not safe":              {c, executor1, observed(40, runs(strange)), nil, "other-digest"},
		"a later one differs":   {c, executor1, o, later(runs(newDigest)), "already-there"},
		"a later one unsettled": {c, executor1, o, later(readingIn("rebooting", someReading())), "in-transition"},
	} {
		op, r := Classify(x.c, x.by, x.o, x.later, 42)
		if r == nil || r.Code != x.code || op.Retry != nil {
			t.Errorf("%s: %+v, %v, want %s", name, op, r, x.code)
		}
	}
}

func TestEnding(t *testing.T) {
	c := someCase(Verifying, yes)
	done, undone, unsettled := observed(40, runs(newDigest)), observed(40, runs(oldDigest)), observed(40, readingIn("rebooting", runs(newDigest)))
	for name, x := range map[string]struct {
		o     *Observation
		later []Observation
		kind  EventKind
		more  string // "conflict", or the code of the refusal
	}{
		"nothing observed":             {nil, nil, "", "no-observation"},
		"shown":                        {done, nil, Complete, ""},
		"shown twice":                  {done, []Observation{*done}, Complete, ""},
		"shown, then not":              {done, []Observation{*undone}, Complete, "conflict"},
		"shown, then unsettled":        {done, []Observation{*unsettled}, Complete, "conflict"},
		"contradicted":                 {undone, nil, Contradict, ""},
		"contradicted twice":           {undone, []Observation{*undone}, Contradict, ""},
		"contradicted, then shown":     {undone, []Observation{*done}, "", "newer-reading"},
		"contradicted, then unsettled": {undone, []Observation{*unsettled}, "", "newer-reading"},
		"unsettled":                    {unsettled, nil, "", "not-complete"},
	} {
		e, r := Ending(c, x.o, x.later)
		switch {
		case x.kind == "":
			if r == nil || r.Code != x.more || e.Kind != "" {
				t.Errorf("%s: %+v, %v", name, e, r)
			}
		case r != nil || e.Kind != x.kind || e.Observation != x.o || e.Conflict != (x.more == "conflict") || e.Reason == "":
			t.Errorf("%s: %+v, %v", name, e, r)
		}
		if x.more == "conflict" {
			e.By, e.Revision = executor1, 90
			admission{name, c, e, "", "later reading"}.check(t)
		}
	}
}

func TestJudgeDrift(t *testing.T) {
	free := func(change func(*DriftFacts)) DriftFacts {
		f := DriftFacts{Machine: someMachine(), Observation: *observed(40, runs(strange))}
		change(&f)
		return f
	}
	drifted := func(f *DriftFacts) { f.Machine.Drift = &Drift{ID: "d-1", Digest: strange} }
	operation := func(s State, ended int64) func(*DriftFacts) {
		return func(f *DriftFacts) {
			op := someOperation(s)
			op.EndedRev = ended
			f.Operations = []Operation{op}
		}
	}
	for name, c := range map[string]struct {
		f    DriftFacts
		want DriftChange
	}{
		"differs":                    {free(func(*DriftFacts) {}), DriftOpens},
		"does not differ":            {free(func(f *DriftFacts) { f.Observation.Reading = someReading() }), DriftNone},
		"still differs":              {free(drifted), DriftNone},
		"differs again":              {free(func(f *DriftFacts) { drifted(f); f.Observation.Reading = runs(newDigest) }), DriftAdds},
		"returned":                   {free(func(f *DriftFacts) { drifted(f); f.Observation.Reading = someReading() }), DriftCloses},
		"nothing was ever applied":   {free(func(f *DriftFacts) { f.Machine.Applied = "" }), DriftNone},
		"a higher basis is recorded": {free(func(f *DriftFacts) { f.HigherBasis = true }), DriftNone},
		"applied since":              {free(func(f *DriftFacts) { f.Machine.BaselineRevision = 41 }), DriftNone},
		"applied just before":        {free(func(f *DriftFacts) { f.Machine.BaselineRevision = 40 }), DriftOpens},
		"assigned since":             {free(func(f *DriftFacts) { f.Machine.AssignmentRevision = 41 }), DriftNone},
		"another node":               {free(func(f *DriftFacts) { f.Observation.Reading.NodeID = "n-2" }), DriftNone},
		"another cluster":            {free(func(f *DriftFacts) { f.Observation.Reading.ClusterID = "c-2" }), DriftNone},
		"no configuration":           {free(func(f *DriftFacts) { f.Observation.Reading = runs("") }), DriftNone},
		"held by a committed one":    {free(operation(Committed, 0)), DriftNone},
		"held by an unresolved one":  {free(operation(Unresolved, 0)), DriftNone},
		"ended since":                {free(operation(Failed, 41)), DriftNone},
		"ended just before":          {free(operation(Failed, 40)), DriftOpens},
		"returned while held":        {free(func(f *DriftFacts) { drifted(f); operation(Sending, 0)(f); f.Observation.Reading = someReading() }), DriftNone},
		"returned, and applied since": {free(func(f *DriftFacts) {
			drifted(f)
			f.Machine.BaselineRevision = 41
			f.Observation.Reading = someReading()
		}), DriftNone},
		"a staged change alone is none": {free(func(f *DriftFacts) { f.Observation.Reading = shownAt(oldDigest, strange) }), DriftNone},
	} {
		if got := JudgeDrift(c.f); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestReadings(t *testing.T) {
	for name, c := range map[string]struct {
		r     Reading
		quiet bool
	}{
		"both alike":      {runs(oldDigest), true},
		"staged or tried": {shownAt(oldDigest, newDigest), false},
		"nothing active":  {runs(""), false},
		"booted from disk": {func() Reading {
			r := runs(oldDigest)
			r.Persistent = Resource{}
			return r
		}(), true},
	} {
		if c.r.Quiescent() != c.quiet {
			t.Errorf("%s: quiescent %v", name, c.r.Quiescent())
		}
	}
	// The stages as Talos names them.
	for stage, want := range map[string]bool{
		"unknown": false, "booting": false, "installing": false, "maintenance": false, "running": false,
		"rebooting": true, "shutting down": true, "resetting": true, "upgrading": true,
	} {
		if (Reading{Stage: stage}).InTransition() != want {
			t.Errorf("stage %s", stage)
		}
	}
}

func TestSettleTime(t *testing.T) {
	for _, c := range []struct{ floor, until, want time.Duration }{
		{30 * time.Second, 0, 30 * time.Second},
		{30 * time.Second, 30 * time.Second, 30 * time.Second},
		{30 * time.Second, 30*time.Second + 1, 30*time.Second + 1},
		{30 * time.Second, MaximumSettle, MaximumSettle},
		{30 * time.Second, MaximumSettle + 1, MaximumSettle},
		{30 * time.Second, time.Hour, MaximumSettle},
		{5 * time.Minute, time.Hour, 5 * time.Minute},
		{30 * time.Second, -time.Hour, 30 * time.Second},
	} {
		if got := SettleTime(c.floor, noon, noon.Add(c.until)); got != c.want {
			t.Errorf("floor %s, first read after %s: %s, want %s", c.floor, c.until, got, c.want)
		}
	}
}
