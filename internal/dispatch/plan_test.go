package dispatch

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"
)

func TestDigest(t *testing.T) {
	of := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return hex.EncodeToString(sum[:])
	}
	for in, canonical := range map[string]string{
		"":                      "\n", // an empty document
		"\n":                    "\n",
		"\n\n\n":                "\n",
		"a: b":                  "a: b\n",
		"a: b\n":                "a: b\n",
		"a: b\n\n":              "a: b\n",
		"a: b\n\n\n\n\n":        "a: b\n",
		"a: b\r\n":              "a: b\n",
		"a: b\r\n\r\n":          "a: b\n",
		"a: b\n\r\n\n":          "a: b\n",
		"a: b\r":                "a: b\r\n", // no line end
		"a: b\r\nc: d\r\n":      "a: b\r\nc: d\n",
		"a: b \n":               "a: b \n",
		"a: b\n ":               "a: b\n \n",
		"\na: b":                "\na: b\n",
		"a: b\n---\nc: d\n\n":   "a: b\n---\nc: d\n",
		"a: b\n---\n":           "a: b\n---\n",
		"a: b # why\n# end\n\n": "a: b # why\n# end\n",
		"a: \xff\x00\n":         "a: \xff\x00\n", // bytes, not text
	} {
		if got := Digest([]byte(in)); got != of(canonical) {
			t.Errorf("%q is not taken as %q", in, canonical)
		}
	}
	b := []byte("a: b\r\n\n")
	Digest(b)
	if string(b) != "a: b\r\n\n" {
		t.Error("the bytes were changed")
	}
	if ShortDigest(of("")) != of("")[:12] || ShortDigest("abc") != "abc" || ShortDigest("") != "" {
		t.Error("short digests")
	}
}

func TestRoutes(t *testing.T) {
	for r, want := range map[Route]struct {
		endpoint string
		valid    bool
	}{
		Direct: {"", true}, Via("10.0.0.1"): {"10.0.0.1", true}, Via("fd00::1"): {"fd00::1", true},
		"": {"", false}, "via:": {"", false}, "via": {"", false}, "DIRECT": {"", false}, "10.0.0.1": {"", false},
	} {
		if r.Endpoint() != want.endpoint || r.Valid() != want.valid {
			t.Errorf("%q: endpoint %q, valid %v", r, r.Endpoint(), r.Valid())
		}
	}
}

func TestCheckPlan(t *testing.T) {
	type facts struct {
		p Plan
		m Machine
		r Reading
	}
	revert := func(f *facts) {
		f.m.Drift, f.p.Drift, f.p.Expected, f.r = &Drift{ID: "d-1", Digest: strange}, "d-1", strange, runs(strange)
	}
	adopt := func(f *facts) {
		f.p.Kind, f.p.Operation, f.p.Mode, f.p.Post = KindAdopt, "", "", Postconditions{}
		f.p.Artifact, f.p.Expected, f.r = strange, strange, runs(strange)
		f.p.TransportDeadline, f.p.VerifyDeadline, f.p.MaxAttempts = 0, 0, 0
	}
	for name, c := range map[string]struct {
		change func(*facts)
		code   string
		why    string
	}{
		"as it is":                  {func(*facts) {}, "", ""},
		"a control plane":           {func(f *facts) { f.m.Assignment.Role = ControlPlane }, "control-plane", "never targets"},
		"it became a control plane": {func(f *facts) { f.r.Role = ControlPlane }, "control-plane", "never targets"},
		"managed by Omni":           {func(f *facts) { f.r.Omni = true }, "omni", "Omni"},
		"in maintenance":            {func(f *facts) { f.r.Stage, f.p.Pre.Stage = "maintenance", "" }, "maintenance", "maintenance"},
		"maintenance demanded":      {func(f *facts) { f.p.Pre.Stage = "maintenance" }, "terms", "maintenance"},
		"maintenance awaited":       {func(f *facts) { f.p.Post.Stage = "maintenance" }, "terms", "maintenance"},

		"no kind":             {func(f *facts) { f.p.Kind = "" }, "terms", "kind"},
		"another kind":        {func(f *facts) { f.p.Kind = "reset" }, "terms", "kind"},
		"another operation":   {func(f *facts) { f.p.Operation = "reboot" }, "terms", "operation"},
		"no operation":        {func(f *facts) { f.p.Operation = "" }, "terms", "operation"},
		"no mode":             {func(f *facts) { f.p.Mode = "" }, "terms", "means reboot"},
		"mode auto":           {func(f *facts) { f.p.Mode = "auto" }, "terms", "mode"},
		"mode reboot":         {func(f *facts) { f.p.Mode = "reboot" }, "terms", "mode"},
		"mode staged":         {func(f *facts) { f.p.Mode = "staged" }, "terms", "mode"},
		"mode try":            {func(f *facts) { f.p.Mode = "try" }, "terms", "mode"},
		"no deadline":         {func(f *facts) { f.p.TransportDeadline = 0 }, "terms", "positive"},
		"no verification":     {func(f *facts) { f.p.VerifyDeadline = 0 }, "terms", "positive"},
		"deadlines alike":     {func(f *facts) { f.p.TransportDeadline = f.p.VerifyDeadline }, "", ""},
		"deadlines crossed":   {func(f *facts) { f.p.TransportDeadline = f.p.VerifyDeadline + 1 }, "terms", "not be later"},
		"no attempt":          {func(f *facts) { f.p.MaxAttempts = 0 }, "terms", "attempt"},
		"other postcondition": {func(f *facts) { f.p.Post.Digest = oldDigest }, "terms", "postconditions"},
		"no stage awaited":    {func(f *facts) { f.p.Post.Stage = "" }, "terms", "postconditions"},
		"no route":            {func(f *facts) { f.p.Route = "" }, "terms", "route"},
		"no artifact":         {func(f *facts) { f.p.Artifact, f.p.Post.Digest = "", "" }, "terms", "artifact"},
		"nothing expected":    {func(f *facts) { f.p.Expected = "" }, "terms", "expected"},
		"no age":              {func(f *facts) { f.p.MaxAge = 0 }, "terms", "age"},
		"no approval":         {func(f *facts) { f.p.Policy.Approvals = 0 }, "terms", "approval"},
		"expires now":         {func(f *facts) { f.p.ExpiresAt = noon }, "terms", "expired"},
		"expires in a moment": {func(f *facts) { f.p.ExpiresAt = noon.Add(1) }, "", ""},
		"a rollout":           {func(f *facts) { f.p.Rollout = &Rollout{ID: "weekly", Limit: 1} }, "", ""},
		"a rollout of none":   {func(f *facts) { f.p.Rollout = &Rollout{ID: "weekly"} }, "terms", "rollout"},
		"a nameless rollout":  {func(f *facts) { f.p.Rollout = &Rollout{Limit: 1} }, "terms", "rollout"},
		"a rollout in debt":   {func(f *facts) { f.p.Rollout = &Rollout{ID: "weekly", Limit: 1, MaxFailed: -1} }, "terms", "rollout"},

		"drifted":                  {func(f *facts) { f.m.Drift = &Drift{ID: "d-1"} }, "drift-open", "drift"},
		"a revert":                 {revert, "", ""},
		"a revert of nothing":      {func(f *facts) { f.p.Drift = "d-1" }, "drift-closed", "not open"},
		"a revert of another":      {func(f *facts) { revert(f); f.m.Drift.ID = "d-2" }, "drift-closed", "not open"},
		"a revert from the old":    {func(f *facts) { revert(f); f.p.Expected = oldDigest }, "other-digest", "expects"},
		"nothing was ever applied": {func(f *facts) { f.m.Applied = "" }, "no-baseline", "accepted"},
		"expects what was never":   {func(f *facts) { f.p.Expected = strange; f.r = runs(strange) }, "other-digest", "expects"},

		"the artifact runs already": {func(f *facts) { f.r = runs(newDigest) }, "already-there", "already"},
		"the artifact is expected":  {func(f *facts) { f.p.Artifact, f.p.Post.Digest = oldDigest, oldDigest }, "already-there", "already"},
		"something else runs":       {func(f *facts) { f.r = runs(strange) }, "other-digest", "runs"},
		"a change is staged":        {func(f *facts) { f.r = shownAt(oldDigest, strange) }, "not-quiescent", "pending"},
		"rebooting":                 {func(f *facts) { f.r.Stage = "rebooting" }, "in-transition", "lost"},
		"not ready":                 {func(f *facts) { f.r.Ready, f.r.Unmet = false, []string{"services"} }, "not-ready", "services"},
		"another node":              {func(f *facts) { f.r.NodeID = "n-2" }, "other-machine", "another machine"},

		"an adoption":                 {adopt, "", ""},
		"an adoption, never applied":  {func(f *facts) { adopt(f); f.m.Applied = "" }, "", ""},
		"an adoption of another":      {func(f *facts) { adopt(f); f.p.Artifact = newDigest }, "terms", "no other"},
		"an adoption while in flight": {func(f *facts) { adopt(f); f.r = shownAt(strange, oldDigest) }, "not-quiescent", "pending"},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts{somePlan(), someMachine(), someReading()}
			c.change(&f)
			r := CheckPlan(f.p, f.m, f.r, noon)
			if (r == nil) != (c.code == "") || r != nil && (r.Code != c.code || !strings.Contains(r.Message, c.why)) {
				t.Errorf("got %v, want %s ...%s...", r, c.code, c.why)
			}
		})
	}
}

func TestCountApprovals(t *testing.T) {
	a := func(who string, change func(*Approval)) Approval {
		x := Approval{Approver: who, Epoch: epoch1}
		if change != nil {
			change(&x)
		}
		return x
	}
	gone := func(x *Approval) { x.RevokedRevision = 5 }
	out := func(x *Approval) { x.IdentityRevoked = true }
	before := func(x *Approval) { x.Epoch = epoch2 }
	self := func(x *Approval) { x.Self = true }
	glass := func(x *Approval) { x.BreakGlass = "down" }
	for name, c := range map[string]struct {
		self      bool
		approvals []Approval
		want      int
	}{
		"none":                       {false, nil, 0},
		"one":                        {false, []Approval{a("ben", nil)}, 1},
		"two":                        {false, []Approval{a("ben", nil), a("cas", nil)}, 2},
		"one person twice":           {false, []Approval{a("ben", nil), a("ben", nil)}, 1},
		"one revoked":                {false, []Approval{a("ben", nil), a("cas", gone)}, 1},
		"given again after that":     {false, []Approval{a("ben", gone), a("ben", nil)}, 1},
		"one identity revoked":       {false, []Approval{a("ben", nil), a("cas", out)}, 1},
		"one of another epoch":       {false, []Approval{a("ben", nil), a("cas", before)}, 1},
		"one's own, refused":         {false, []Approval{a("ann", self), a("ben", nil)}, 1},
		"one's own, allowed":         {true, []Approval{a("ann", self), a("ben", nil)}, 2},
		"broken glass":               {false, []Approval{a("ann", glass)}, 3},
		"one's own broken glass":     {false, []Approval{a("ann", func(x *Approval) { glass(x); self(x) })}, 3},
		"revoked broken glass":       {false, []Approval{a("ann", func(x *Approval) { glass(x); gone(x) }), a("ben", nil)}, 1},
		"broken glass, left company": {false, []Approval{a("ann", func(x *Approval) { glass(x); out(x) })}, 0},
		"broken glass before":        {false, []Approval{a("ann", func(x *Approval) { glass(x); before(x) })}, 0},
	} {
		if got := CountApprovals(Policy{Approvals: 3, SelfApproval: c.self}, c.approvals, epoch1); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestApprove(t *testing.T) {
	proposed := Standing{State: PlanProposed}
	a := Approval{Approver: "cas", Epoch: epoch1}
	first := someApprovals()[:1]
	for name, c := range map[string]struct {
		change   func(*Plan, *Standing, *Approval)
		existing []Approval
		want     PlanState
		code     string
	}{
		"the first of two":      {nil, nil, PlanProposed, ""},
		"the second of two":     {nil, first, PlanApproved, ""},
		"the only one needed":   {func(p *Plan, _ *Standing, _ *Approval) { p.Policy.Approvals = 1 }, nil, PlanApproved, ""},
		"the same person again": {func(_ *Plan, _ *Standing, a *Approval) { a.Approver = "ben" }, first, "", "already-approved"},
		"again after taking it back": {
			func(_ *Plan, _ *Standing, a *Approval) { a.Approver = "ben" },
			[]Approval{{Approver: "ben", Epoch: epoch1, RevokedRevision: 5}},
			PlanProposed, "",
		},
		"again in a new epoch": {
			func(_ *Plan, _ *Standing, a *Approval) { a.Approver = "ben" },
			[]Approval{{Approver: "ben", Epoch: epoch2}},
			PlanProposed, "",
		},
		"one's own":            {func(_ *Plan, _ *Standing, a *Approval) { a.Self = true }, first, "", "self-approval"},
		"one's own, allowed":   {func(p *Plan, _ *Standing, a *Approval) { a.Self, p.Policy.SelfApproval = true, true }, first, PlanApproved, ""},
		"broken glass":         {func(_ *Plan, _ *Standing, a *Approval) { a.Self, a.BreakGlass = true, "down" }, nil, PlanApproved, ""},
		"broken glass, second": {func(_ *Plan, _ *Standing, a *Approval) { a.Approver, a.BreakGlass = "ben", "down" }, first, PlanApproved, ""},
		"expires now":          {func(p *Plan, _ *Standing, _ *Approval) { p.ExpiresAt = noon }, nil, "", "plan-expired"},
		"approved already":     {func(_ *Plan, s *Standing, _ *Approval) { s.State = PlanApproved }, first, "", "plan-not-proposed"},
		"committed":            {func(_ *Plan, s *Standing, _ *Approval) { s.State = PlanCommitted }, first, "", "plan-not-proposed"},
		"cancelled":            {func(_ *Plan, s *Standing, _ *Approval) { s.State = PlanCancelled }, first, "", "plan-not-proposed"},
		"revoked":              {func(_ *Plan, s *Standing, _ *Approval) { s.State = PlanRevoked }, first, "", "plan-not-proposed"},
	} {
		p, s, given := somePlan(), proposed, a
		if c.change != nil {
			c.change(&p, &s, &given)
		}
		got, r := Approve(p, s, c.existing, given, epoch1, noon)
		switch {
		case c.code != "" && (r == nil || r.Code != c.code || got != s):
			t.Errorf("%s: %+v, %v, want %s", name, got, r, c.code)
		case c.code == "" && (r != nil || got.State != c.want):
			t.Errorf("%s: %+v, %v, want %s", name, got, r, c.want)
		}
	}
}

func TestIsSelf(t *testing.T) {
	for who, want := range map[string]bool{"ann": true, "art": true, "ben": false, "": false} {
		if IsSelf(somePlan(), who) != want {
			t.Errorf("%q", who)
		}
	}
}

func TestI13AfterARevocation(t *testing.T) {
	enough, few := someApprovals(), someApprovals()
	few[0].RevokedRevision = 30
	for name, c := range map[string]struct {
		s         Standing
		approvals []Approval
		want      Standing
	}{
		"proposed":                  {Standing{State: PlanProposed}, few, Standing{State: PlanRevoked, RevokedRev: 30}},
		"approved":                  {Standing{State: PlanApproved}, few, Standing{State: PlanRevoked, RevokedRev: 30}},
		"approved, enough are left": {Standing{State: PlanApproved}, enough, Standing{State: PlanApproved}},
		"committed":                 {Standing{State: PlanCommitted, Operation: "op-1"}, few, Standing{State: PlanCommitted, Operation: "op-1", RevokedRev: 30}},
		"committed, again":          {Standing{State: PlanCommitted, RevokedRev: 25}, few, Standing{State: PlanCommitted, RevokedRev: 25}},
		"cancelled":                 {Standing{State: PlanCancelled, CancelledRev: 20}, few, Standing{State: PlanCancelled, CancelledRev: 20}},
		"expired":                   {Standing{State: PlanExpired, ExpiredRev: 20}, few, Standing{State: PlanExpired, ExpiredRev: 20}},
		"revoked":                   {Standing{State: PlanRevoked, RevokedRev: 20}, few, Standing{State: PlanRevoked, RevokedRev: 20}},
	} {
		got := AfterRevocation(somePlan(), c.s, c.approvals, epoch1, 30)
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		f := with(toAttempt(), func(f *Facts) { f.Standing, f.Approvals = got, someApprovals() })
		if r := AttemptAllowed(f); got.RevokedRev != 0 && (r == nil || r.Comparison != 1) {
			t.Errorf("%s: an attempt is refused by %v", name, r)
		}
	}
}

func TestStandingNow(t *testing.T) {
	left := someApprovals()
	left[0].IdentityRevoked = true
	for name, c := range map[string]struct {
		s         Standing
		approvals []Approval
		now       time.Time
		want      PlanState
	}{
		"as it is":                   {Standing{State: PlanApproved}, someApprovals(), noon, PlanApproved},
		"expires now":                {Standing{State: PlanApproved}, someApprovals(), noon.Add(time.Hour), PlanExpired},
		"expires in a moment":        {Standing{State: PlanProposed}, nil, noon.Add(time.Hour - 1), PlanProposed},
		"an approver was revoked":    {Standing{State: PlanApproved}, left, noon, PlanRevoked},
		"committed, past its expiry": {Standing{State: PlanCommitted}, left, noon.Add(2 * time.Hour), PlanCommitted},
		"cancelled":                  {Standing{State: PlanCancelled}, left, noon.Add(2 * time.Hour), PlanCancelled},
	} {
		if got := StandingNow(somePlan(), c.s, c.approvals, epoch1, c.now); got.State != c.want {
			t.Errorf("%s: %s, want %s", name, got.State, c.want)
		}
	}
}

func TestAssignmentsAreEqual(t *testing.T) {
	a := Assignment{Role: Worker, Addresses: []string{"10.0.0.2", "10.0.0.3"}}
	for name, c := range map[string]struct {
		b    Assignment
		want bool
	}{
		"itself":          {a, true},
		"another role":    {Assignment{ControlPlane, a.Addresses}, false},
		"fewer addresses": {Assignment{Worker, a.Addresses[:1]}, false},
		"another address": {Assignment{Worker, []string{"10.0.0.2", "10.0.0.4"}}, false},
	} {
		if a.Equal(c.b) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}

// The list is data, and what is not on it proves nothing.
func TestDefinitiveRejections(t *testing.T) {
	for minor, codes := range DefinitiveRejections {
		for _, code := range codes {
			switch code {
			case "InvalidArgument", "FailedPrecondition", "PermissionDenied", "Unimplemented":
			default:
				t.Errorf("%s: %s is not proven to come before a mutation", minor, code)
			}
		}
	}
	if len(DefinitiveRejections["v1.13"]) != 4 || DefinitiveRejections["v1.14"] != nil {
		t.Errorf("%v", DefinitiveRejections)
	}
}
