package dispatch

import (
	"testing"
	"time"

	"github.com/clewops/clew/internal/refusal"
)

// wantCode checks a refusal outside the numbered comparisons; "" says that there is none.
func wantCode(t *testing.T, name string, r *refusal.Refusal, code string) {
	t.Helper()
	if (r == nil) != (code == "") || r != nil && (r.Code != code || r.Comparison != refusal.None || r.Message == "") {
		t.Errorf("%s: got %v, want %q", name, r, code)
	}
}

// toDecide is a lost attempt, sent at 11:58 with a transport deadline of 15 s, first read 45 s after it was sent, and a
// frame begun right when the settle time ended: 45 s after that read.
func toDecide() DecisionFacts {
	a := lostAttempt(1, 30)
	a.StartedAt = noon.Add(-2 * time.Minute)
	frame := observed(50, someReading())
	frame.Purpose, frame.StartedAt = ForRecovery, a.StartedAt.Add(90*time.Second)
	return DecisionFacts{
		Plan: somePlan(), Attempt: a, SenderEnded: "it recorded its end", FirstRead: a.StartedAt.Add(45 * time.Second),
		Frame: frame, NewestBasis: 50, Decision: Decision{Reason: "the cable was pulled", Basis: 50, SettleFloor: MinimumSettle},
	}
}

func TestI6I11DecisionsTakeAllTheirConditions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*DecisionFacts)
		code   string
	}{
		"as it is":                     {func(*DecisionFacts) {}, ""},
		"without a reason":             {func(f *DecisionFacts) { f.Decision.Reason = "" }, "no-reason"},
		"a floor too low":              {func(f *DecisionFacts) { f.Decision.SettleFloor = MinimumSettle - 1 }, "settle-floor"},
		"no floor":                     {func(f *DecisionFacts) { f.Decision.SettleFloor = 0 }, "settle-floor"},
		"the sender may run":           {func(f *DecisionFacts) { f.SenderEnded = "" }, "sender-running"},
		"never read on its route":      {func(f *DecisionFacts) { f.FirstRead = time.Time{} }, "settle-time"},
		"a moment before the settling": {func(f *DecisionFacts) { f.Frame.StartedAt = f.Frame.StartedAt.Add(-1) }, "settle-time"},
		"the floor is higher":          {func(f *DecisionFacts) { f.Decision.SettleFloor = 45*time.Second + 1 }, "settle-time"},
		"read later, settled later":    {func(f *DecisionFacts) { f.FirstRead = f.FirstRead.Add(1) }, "settle-time"},
		"read very late, settled": {func(f *DecisionFacts) {
			f.FirstRead = f.Attempt.StartedAt.Add(time.Hour)
			f.Frame.StartedAt = f.FirstRead.Add(MaximumSettle)
		}, ""},
		"read very late, not settled": {func(f *DecisionFacts) {
			f.FirstRead = f.Attempt.StartedAt.Add(time.Hour)
			f.Frame.StartedAt = f.FirstRead.Add(MaximumSettle - 1)
		}, "settle-time"},
		"nothing frames it":            {func(f *DecisionFacts) { f.Frame = nil }, "not-framed"},
		"a reading of another purpose": {func(f *DecisionFacts) { f.Frame.Purpose = ForCompletion }, "not-framed"},
		"begun before the attempt":     {func(f *DecisionFacts) { f.Frame.Basis, f.NewestBasis = 30, 30 }, "not-framed"},
		"a newer reading is recorded":  {func(f *DecisionFacts) { f.NewestBasis = 51 }, "not-framed"},
		"the endpoint is gone":         {func(f *DecisionFacts) { f.FirstRead, f.Decision.RouteGone = time.Time{}, "it was rebuilt" }, ""},
		"gone, and the floor is not up": {func(f *DecisionFacts) {
			f.FirstRead, f.Decision.RouteGone, f.Decision.SettleFloor = time.Time{}, "it was rebuilt", 76*time.Second
		}, "settle-time"},
		"gone, of a direct route": {func(f *DecisionFacts) { f.Attempt.Route, f.Decision.RouteGone = Direct, "it was rebuilt" }, "no-endpoint"},
	} {
		f := toDecide()
		c.change(&f)
		wantCode(t, name, CheckDecision(f), c.code)
	}
}

// toProve is evidence that a lost attempt cannot arrive any more.
func toProve() EvidenceFacts {
	a := lostAttempt(1, 30)
	first, second := observed(40, someReading()), observed(42, someReading())
	for i, o := range []*Observation{first, second} {
		o.Purpose, o.Instance, o.StartedAt = ForAccounting, "x2", noon.Add(time.Duration(i)*LateReadsApart)
	}
	return EvidenceFacts{
		Attempt: a, By: Owner{Instance: "x2", Generation: 2, Epoch: epoch1}, Host: a.Host, SenderEnded: "its lock file is free",
		Accounting: Accounting{Kind: CannotArrive, Basis: 42, Evidence: []byte(`{"hop1":true}`)}, Reads: []Observation{*first, *second},
	}
}

func TestI6EvidenceTakesAllItsConditions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*EvidenceFacts)
		code   string
	}{
		"as it is": {func(*EvidenceFacts) {}, ""},
		"by who sent it": {func(f *EvidenceFacts) {
			f.By = executor1
			f.SenderEnded = ""
			f.Reads[0].Instance, f.Reads[1].Instance = "x1", "x1"
		}, ""},
		"of another kind":              {func(f *EvidenceFacts) { f.Accounting.Kind = ByDecision }, "accounting-kind"},
		"never left is another matter": {func(f *EvidenceFacts) { f.Accounting.Kind = NeverLeft }, "accounting-kind"},
		"on another host":              {func(f *EvidenceFacts) { f.Host.ID = "h2" }, "other-host"},
		"in another boot":              {func(f *EvidenceFacts) { f.Host.BootID = "hb2" }, "other-host"},
		"in another namespace":         {func(f *EvidenceFacts) { f.Host.NetNS = "ns2" }, "other-host"},
		"on a renamed host":            {func(f *EvidenceFacts) { f.Host.Name = "table" }, ""},
		"the sender may run":           {func(f *EvidenceFacts) { f.SenderEnded = "" }, "sender-running"},
		"no sockets were seen":         {func(f *EvidenceFacts) { f.Accounting.Evidence = nil }, "no-evidence"},
		"no late reads":                {func(f *EvidenceFacts) { f.Reads = nil }, "late-reads"},
		"one late read":                {func(f *EvidenceFacts) { f.Reads = f.Reads[1:] }, "late-reads"},
		"too close together":           {func(f *EvidenceFacts) { f.Reads[1].StartedAt = f.Reads[1].StartedAt.Add(-1) }, "late-reads"},
		"the second is not the named":  {func(f *EvidenceFacts) { f.Accounting.Basis = 40 }, "late-reads"},
		"on another route":             {func(f *EvidenceFacts) { f.Reads[0].Route = Direct }, "late-reads"},
		"the second on another route":  {func(f *EvidenceFacts) { f.Reads[1].Route = Direct }, "late-reads"},
		"of another process":           {func(f *EvidenceFacts) { f.Reads[0].Instance = "x1" }, "late-reads"},
		"before the attempt":           {func(f *EvidenceFacts) { f.Reads[0].Basis = 30 }, "late-reads"},
		"the active one changed":       {func(f *EvidenceFacts) { f.Reads[1].Reading.Active.Digest = newDigest }, "late-reads"},
		"the persistent one changed":   {func(f *EvidenceFacts) { f.Reads[1].Reading.Persistent.Digest = newDigest }, "late-reads"},
		"the persistent one went":      {func(f *EvidenceFacts) { f.Reads[1].Reading.Persistent = Resource{} }, "late-reads"},
		"booted in between":            {func(f *EvidenceFacts) { f.Reads[1].Reading.BootID = "b2" }, "late-reads"},
		"another node":                 {func(f *EvidenceFacts) { f.Reads[1].Reading.NodeID = "n-2" }, "late-reads"},
	} {
		f := toProve()
		c.change(&f)
		wantCode(t, name, CheckEvidence(f), c.code)
	}
}

func TestLateLandings(t *testing.T) {
	sent := func(n int, accounted int64, kind AccountingKind) Sent {
		a := accountedAttempt(n, int64(20*n), accounted)
		a.Accounting.Kind = kind
		return Sent{a, newDigest}
	}
	answeredLate := sent(1, 35, CannotArrive)
	answeredLate.Attempt.Response = &Response{Class: Accepted, Revision: 60}
	for name, c := range map[string]struct {
		sent []Sent
		o    *Observation
		want int
	}{
		"nothing was sent":         {nil, observed(40, runs(newDigest)), 0},
		"landed":                   {[]Sent{sent(1, 35, CannotArrive)}, observed(40, runs(newDigest)), 1},
		"landed after a judgement": {[]Sent{sent(1, 35, ByDecision)}, observed(40, runs(newDigest)), 1},
		"the newer of two":         {[]Sent{sent(2, 36, ByDecision), sent(1, 35, ByDecision)}, observed(40, runs(newDigest)), 2},
		"something else runs":      {[]Sent{sent(1, 35, CannotArrive)}, observed(40, runs(strange)), 0},
		"accounted for since":      {[]Sent{sent(1, 40, CannotArrive)}, observed(40, runs(newDigest)), 0},
		"it never left":            {[]Sent{sent(1, 35, NeverLeft)}, observed(40, runs(newDigest)), 0},
		"it was answered":          {[]Sent{answeredLate}, observed(40, runs(newDigest)), 0},
		"it is not accounted for":  {[]Sent{{lostAttempt(1, 30), newDigest}}, observed(40, runs(newDigest)), 0},
	} {
		n := 0
		if got := LateLanding(c.sent, *c.o); got != nil {
			n = got.Number
		}
		if n != c.want {
			t.Errorf("%s: attempt %d, want %d", name, n, c.want)
		}
	}
}

func TestVersionsMove(t *testing.T) {
	at := func(basis int64, version uint64, change func(*Reading)) Observation {
		r := runs(newDigest)
		r.Active.Version = version
		if change != nil {
			change(&r)
		}
		return *observed(basis, r)
	}
	earlier := at(40, 3, nil)
	before := []Sent{{accountedAttempt(1, 30, 35), newDigest}}
	for name, c := range map[string]struct {
		sent  []Sent
		later Observation
		want  bool
	}{
		"moved":                   {before, at(45, 4, nil), true},
		"stayed":                  {before, at(45, 3, nil), false},
		"of a new boot":           {before, at(45, 4, func(r *Reading) { r.BootID = "b2" }), false},
		"of another node":         {before, at(45, 4, func(r *Reading) { r.NodeID = "n-2" }), false},
		"other bytes":             {before, at(45, 4, func(r *Reading) { r.Active.Digest = strange }), false},
		"sent since":              {append(before, Sent{accountedAttempt(2, 41, 42), newDigest}), at(45, 4, nil), false},
		"accounted for since":     {[]Sent{{accountedAttempt(1, 30, 41), newDigest}}, at(45, 4, nil), false},
		"still not accounted for": {[]Sent{{lostAttempt(1, 30), newDigest}}, at(45, 4, nil), false},
	} {
		if got := VersionMoved(c.sent, earlier, c.later); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
