package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
)

func TestDurationsAndMoments(t *testing.T) {
	for word, want := range map[string]time.Duration{"30s": 30 * time.Second, "10m": 10 * time.Minute, "7d": 7 * 24 * time.Hour, "0": 0, "1h30m": 90 * time.Minute} {
		if got, err := parseDuration(word); err != nil || got != want {
			t.Errorf("%s: %v, %v", word, got, err)
		}
	}
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for word, want := range map[string]time.Time{
		"2h": now.Add(-2 * time.Hour), "2026-04-30T10:00:00Z": time.Date(2026, 4, 30, 10, 0, 0, 0, time.UTC),
		"2026-04-30 10:05": time.Date(2026, 4, 30, 10, 5, 0, 0, time.Local), "2026-04-30": time.Date(2026, 4, 30, 0, 0, 0, 0, time.Local),
	} {
		if got, err := parseMoment(word, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", word, got, err)
		}
	}
}

func TestRolloutWords(t *testing.T) {
	for word, want := range map[string]dispatch.Rollout{"spring=2": {ID: "spring", Limit: 2}, "a.b-c_1=10,3": {ID: "a.b-c_1", Limit: 10, MaxFailed: 3}} {
		if got, err := parseRollout(word); err != nil || *got != want {
			t.Errorf("%s: %v, %v", word, got, err)
		}
	}
	if got, err := parseRollout(""); got != nil || err != nil {
		t.Errorf("none: %v, %v", got, err)
	}
}

// TestAgentsFileIsSound: every line names somebody and at least one variable, so that no line silently matches nothing.
func TestAgentsFileIsSound(t *testing.T) {
	signs := agentSigns()
	if len(signs) < 10 {
		t.Fatalf("only %d agents and pipelines are known", len(signs))
	}
	for _, s := range signs {
		if s.name == "" || len(s.variables) == 0 || strings.ContainsAny(strings.Join(s.variables, ""), "# ") {
			t.Errorf("unsound: %+v", s)
		}
	}
}

func TestGraverExitCode(t *testing.T) {
	for _, tc := range []struct{ a, b, want int }{
		{exitDone, exitDone, exitDone},
		{exitDone, exitRefused, exitRefused},
		{exitRefused, exitFailure, exitFailure},
		{exitFailure, exitNotHeld, exitNotHeld},
		{exitNotHeld, exitUnresolved, exitUnresolved},
		{exitUnresolved, exitDone, exitUnresolved},
	} {
		if got := graver(tc.a, tc.b); got != tc.want {
			t.Errorf("%d and %d: %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// TestImportRefuses: nodes that belong to somebody else, or to nobody yet.
func TestImportRefuses(t *testing.T) {
	sound := dispatch.Reading{Active: dispatch.Resource{Present: true}, Role: dispatch.Worker}
	if err := (&found{reading: sound}).refuse(); err != nil {
		t.Errorf("a sound node: %v", err)
	}
	omni, empty := sound, sound
	omni.Omni, empty.Active.Present = true, false
	for code, r := range map[string]dispatch.Reading{"omni": omni, "no-configuration": empty} {
		got, ok := refusal.As((&found{reading: r}).refuse())
		if !ok || got.Code != code {
			t.Errorf("%s: %v", code, got)
		}
	}
}

func TestFollowedLog(t *testing.T) {
	h := newHome(t)
	h.want(exitDone, "--as", "ada", "admin", "identity", "create", "oli")
	for _, form := range []string{"table", "json"} {
		ctx, leave := context.WithCancel(t.Context())
		out := &screen{}
		done := make(chan int, 1)
		go func() {
			done <- Main(ctx, []string{"log", "--follow", "-o", form}, strings.NewReader(""), out, &screen{}, h.env)
		}()
		name := "newcomer-" + form
		waitFor(t, func() bool { return strings.Contains(out.String(), "identity oli created") })
		h.want(exitDone, "--as", "ada", "admin", "identity", "create", name)
		waitFor(t, func() bool { return strings.Contains(out.String(), "identity "+name+" created") })
		leave()
		if code := <-done; code != exitDone {
			t.Errorf("%s: leaving a followed log: exit %d", form, code)
		}
	}
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatal("what was waited for did not happen")
		}
		time.Sleep(20 * time.Millisecond)
	}
}
