package act_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/act"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestParseExpectation(t *testing.T) {
	for text, want := range map[string]act.Expectation{
		"api-gap=60s":                       {Symptom: "api-gap", For: time.Minute},
		"pod-restart@deploy/web -n shop=5m": {Symptom: "pod-restart", At: "deploy/web -n shop", For: 5 * time.Minute},
	} {
		if got, err := act.ParseExpectation(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "api-gap", "api-gap=", "api-gap=soon", "api-gap=0s", "api-gap=-1s", "API=1s", "-x=1s", "a@=1s", "=1s"} {
		if got, err := act.ParseExpectation(text); err == nil {
			t.Errorf("%q was taken for %+v", text, got)
		}
	}
	if got, err := act.ParseCondition("quorum-loss@etcd"); err != nil || got.At != "etcd" || got.Symptom != "quorum-loss" {
		t.Errorf("a condition: %+v, %v", got, err)
	}
}

func TestClaimedIsBoundedByTheDefault(t *testing.T) {
	for _, c := range []struct {
		claim, byDefault time.Duration
		long             bool
		want             time.Duration
	}{
		{time.Minute, time.Minute, false, time.Minute},
		{4 * time.Minute, time.Minute, false, 4 * time.Minute},
		{5 * time.Minute, time.Minute, false, 4 * time.Minute},
		{5 * time.Minute, time.Minute, true, 5 * time.Minute},
		{time.Hour, 0, false, time.Hour},
		{10 * time.Second, time.Minute, false, 10 * time.Second},
	} {
		if got := act.Claimed(c.claim, c.byDefault, c.long); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestWorkRuns(t *testing.T) {
	w := act.Work{Began: noon, Until: noon.Add(time.Hour)}
	for at, want := range map[time.Duration]bool{-time.Second: false, 0: true, 59 * time.Minute: true, time.Hour: false} {
		if got := w.Running(noon.Add(at)); got != want {
			t.Errorf("after %s: %t", at, got)
		}
	}
	w.Ended = noon.Add(time.Minute)
	if w.Running(noon.Add(2 * time.Minute)) {
		t.Error("it runs after its end")
	}
}

func TestAnActIsOverAfterItsTail(t *testing.T) {
	a := act.Act{Observed: act.Observed{Start: noon, Tail: 5 * time.Minute}}
	if a.Over(noon.Add(24 * time.Hour)) {
		t.Error("an act that nobody saw end is over")
	}
	a.Observed.End = noon.Add(time.Minute)
	if a.Over(noon.Add(5*time.Minute)) || !a.Over(noon.Add(6*time.Minute)) {
		t.Error("the tail does not count")
	}
}

func TestConclude(t *testing.T) {
	done, left := act.Reading{Done: true}, act.Reading{Left: "cp-2 is still cordoned"}
	failed := act.Reading{Failed: "the rollout exceeded its deadline"}
	ok, bad, killed := &act.Exit{}, &act.Exit{Status: 1}, &act.Exit{Status: -1, Signal: "SIGINT"}
	for _, c := range []struct {
		name     string
		exit     *act.Exit
		targets  int
		readings []act.Reading
		want     act.OutcomeState
		detail   string
	}{
		{"exit 0, not looked at", ok, 1, nil, act.OutcomeUnknown, "exit status 0"},
		{"exit 1, not looked at", bad, 1, nil, act.OutcomeUnknown, "exit status 1"},
		{"killed, not looked at", killed, 1, nil, act.OutcomeUnknown, "SIGINT"},
		{"nobody saw it end", nil, 1, nil, act.OutcomeUnknown, "nobody saw"},
		{"done", ok, 1, []act.Reading{done}, act.OutcomeOK, ""},
		{"done, although it failed", bad, 1, []act.Reading{done}, act.OutcomeOK, ""},
		{"one of two", ok, 2, []act.Reading{done}, act.OutcomeUnknown, "exit status 0"},
		{"two of two", ok, 2, []act.Reading{done, done}, act.OutcomeOK, ""},
		{"interrupted between drain and uncordon", killed, 1, []act.Reading{left}, act.OutcomeIncomplete, "cp-2 is still cordoned"},
		{"exit 0, but left", ok, 2, []act.Reading{done, left}, act.OutcomeIncomplete, "cp-2"},
		{"failed beats left", bad, 2, []act.Reading{left, failed}, act.OutcomeFailed, "deadline"},
		{"no targets", ok, 0, nil, act.OutcomeUnknown, ""},
		{"an empty reading is none", ok, 1, []act.Reading{{}}, act.OutcomeUnknown, ""},
	} {
		got := act.Conclude(c.exit, c.targets, c.readings, noon)
		if got.State != c.want || !strings.Contains(got.Detail, c.detail) || !got.At.Equal(noon) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestSessionPresence(t *testing.T) {
	s := act.Session{LastSeen: noon}
	if got := s.Presence(noon.Add(time.Minute), time.Hour); got != act.Present {
		t.Errorf("got %s", got)
	}
	if got := s.Presence(noon.Add(100*time.Hour), time.Hour); got != act.PresenceLost {
		t.Errorf("silence is %s", got)
	}
	s.SaidBye = true
	if got := s.Presence(noon, time.Hour); got != act.Ended {
		t.Errorf("got %s", got)
	}
}

func TestShortID(t *testing.T) {
	taken := map[string]bool{}
	random := []byte{1, 2, 3, 4, 5}
	for _, want := range []int{3, 4, 5} {
		id, err := act.ShortID(act.ActPrefix, random, func(s string) bool { return taken[s] })
		if err != nil || len(id) != len(act.ActPrefix)+want || taken[id] || !strings.HasPrefix(id, "i-") {
			t.Fatalf("%q, %v", id, err)
		}
		taken[id] = true
	}
	if id, err := act.ShortID(act.ActPrefix, random, func(s string) bool { return taken[s] }); err == nil {
		t.Errorf("every id is taken, and %q was given", id)
	}
	if _, err := act.ShortID(act.ActPrefix, []byte{1}, func(string) bool { return false }); err == nil {
		t.Error("too few random bytes gave an id")
	}
	ids := []string{"i-7k2", "i-7k2m", "i-abc", "w-9"}
	for typed, want := range map[string]string{"i-7k2": "i-7k2", "i-a": "i-abc", "w": "w-9", "i-7k2m": "i-7k2m"} {
		if got, _, ok := act.MatchID(typed, ids); !ok || got != want {
			t.Errorf("%q: %q %t", typed, got, ok)
		}
	}
	for _, typed := range []string{"i-7", "", "x", "i-"} {
		if got, _, ok := act.MatchID(typed, ids); ok {
			t.Errorf("%q: %q", typed, got)
		}
	}
}

func TestInterests(t *testing.T) {
	none := func(string) string { return "" }
	at := act.Place{Server: "https://k:6443", Namespace: "shop", Nodes: []string{"cp-1"}}
	of := func(line string) []act.Interest {
		return act.Interests(act.Match(recognisers(t), words(line), none), at, noon, 0)
	}
	if got := of("kubectl get deploy web -n shop"); len(got) != 1 || got[0].Target.String() != "deploy/web -n shop" || !got[0].Until.Equal(noon.Add(2*time.Hour)) || got[0].Because != "kubectl get" {
		t.Errorf("a read: %+v", got)
	}
	if got := of("kubectl config use-context prod"); got != nil {
		t.Errorf("local work has interests: %+v", got)
	}
	if got := of("go build ./..."); got != nil {
		t.Errorf("another program has interests: %+v", got)
	}
	if got := of("kubectl cluster-info"); len(got) != 1 || got[0].Target.Kind != "" {
		t.Errorf("a read without a target marks the cluster: %+v", got)
	}
	if got := of("talosctl -n cp-1 dmesg"); len(got) != 1 || got[0].Target.String() != "node/cp-1" {
		t.Errorf("a node: %+v", got)
	}
	old := of("kubectl get deploy web -n shop")
	newer := act.Interests(act.Match(recognisers(t), words("kubectl describe deploy web -n shop"), none), at, noon.Add(time.Hour), 0)
	merged := act.MergeInterests(old, newer, noon.Add(time.Hour))
	if len(merged) != 1 || !merged[0].Until.Equal(noon.Add(3*time.Hour)) {
		t.Errorf("merged: %+v", merged)
	}
	if left := act.MergeInterests(merged, nil, noon.Add(3*time.Hour)); len(left) != 0 {
		t.Errorf("expired ones are kept: %+v", left)
	}
}

func TestExitStatuses(t *testing.T) {
	none := func(string) string { return "" }
	of := func(line string) act.Recognised { return act.Match(recognisers(t), words(line), none) }
	for _, c := range []struct {
		line                string
		exit                act.Exit
		failed, unreachable bool
	}{
		{"kubectl get pods", act.Exit{}, false, false},
		{"kubectl get pods", act.Exit{Status: 1}, true, true},
		{"kubectl get pods", act.Exit{Status: 7}, true, false},
		{"kubectl diff -f x", act.Exit{Status: 1}, false, false},
		{"kubectl diff -f x", act.Exit{Status: 2}, true, true},
		{"flux diff ks apps --path .", act.Exit{Status: 1}, false, false},
		{"kubectl auth can-i get pods", act.Exit{Status: 1}, false, false},
		{"terraform plan -detailed-exitcode", act.Exit{Status: 2}, false, false},
		{"kubectl config view", act.Exit{Status: 1}, true, false},
		{"kubectl get pods", act.Exit{Status: -1, Signal: "SIGINT"}, true, false},
		{"ls -l", act.Exit{Status: 1}, true, false},
	} {
		r := of(c.line)
		if r.Failed(c.exit) != c.failed || r.MayBeUnreachable(c.exit) != c.unreachable {
			t.Errorf("%s, %+v: failed %t, unreachable %t", c.line, c.exit, r.Failed(c.exit), r.MayBeUnreachable(c.exit))
		}
	}
}

func TestLayersAreKeptApart(t *testing.T) {
	a := act.Act{ID: "i-7k2", Observed: act.Observed{Tool: "talosctl"}, Claimed: &act.Claim{Purpose: "upgrade"}}
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var layers map[string]map[string]any
	if err := json.Unmarshal([]byte(strings.Replace(string(b), `"id":"i-7k2",`, "", 1)), &layers); err != nil {
		t.Fatal(err)
	}
	if layers["observed"]["purpose"] != nil || layers["claimed"]["tool"] != nil || layers["claimed"]["purpose"] != "upgrade" {
		t.Errorf("got %s", b)
	}
}
