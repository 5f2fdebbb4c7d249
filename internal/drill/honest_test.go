package drill_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/drill"
	"github.com/clewops/clew/internal/lab"
)

// TestNothingPassesByAccident plays rows that go wrong in every way but the one that they are about.
func TestNothingPassesByAccident(t *testing.T) {
	const quiet = "operation=none; attempts=0; landings=0"
	want := map[string]drill.Verdict{
		"991": drill.Errored, "992": drill.Errored, "993": drill.Errored, "994": drill.Mismatch, "995": drill.Mismatch, "996": drill.Errored,
	}
	rows := []drill.Row{
		{ID: "991", Case: "the database cannot be read", Expect: quiet, Script: func(s *drill.Stage) {
			s.Plan("")
			path := filepath.Join(s.Dir(), "store.db")
			if err := os.Rename(path, path+".away"); err != nil {
				s.Fail("%w", err)
			}
		}},
		{ID: "992", Case: "an executor is left running", Expect: quiet, Script: func(s *drill.Stage) {
			s.Dispatch("a", s.Plan(""), drill.GateEvidence).Reaches(drill.GateEvidence)
		}},
		{ID: "993", Case: "a gate is never reached", Expect: quiet, Script: func(s *drill.Stage) {
			p := s.Plan("")
			s.Revoke(p)
			s.Dispatch("a", p, drill.GateCommit).Reaches(drill.GateCommit)
		}},
		{
			ID: "994", Case: "a control whose guard is in place", Control: true, Without: dispatch.Without{dispatch.GuardApproval},
			Expect: "attempts=1; landings=1", Script: func(s *drill.Stage) {
				p := s.Plan("")
				a := s.Clew("a", []drill.Gate{drill.GateCommitted}, []string{"dispatch", p.ID, "--wait", "0"}, drill.Guarded())
				a.Reaches(drill.GateCommitted)
				s.Revoke(p)
				a.Opens(drill.GateCommitted)
				a.Ends()
			},
		},
		{ID: "995", Case: "the gates of an executor are gone", Expect: "a.exit=0; landings=1", Script: func(s *drill.Stage) {
			p := s.Plan("")
			a := s.Dispatch("a", p, drill.GateEvidence)
			a.Reaches(drill.GateEvidence)
			if err := os.RemoveAll(filepath.Join(s.Dir(), "executors", "a", "gates")); err != nil {
				s.Fail("%w", err)
			}
			a.Ends()
		}},
		{ID: "996", Case: "a fault without the row saying so", Expect: quiet, Script: func(s *drill.Stage) {
			s.Fault(lab.Order{Target: s.ClientLink(s.Machine(0)), Kind: "cut"})
		}},
	}
	res, err := drill.Run(t.Context(), drill.Options{
		Rows: rows, Stores: []config.Engine{config.SQLite}, Nets: []lab.LinkMode{lab.LinksUserland}, Exe: program(t),
		Out: filepath.Join(t.TempDir(), "out"), Warn: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Cells) != len(want) {
		t.Errorf("%d cells", len(res.Cells))
	}
	for _, c := range res.Cells {
		if c.Verdict != want[c.Row] || c.Reason == "" {
			t.Errorf("%s: %s (%s), want %s; read %s", c.Row, c.Verdict, c.Reason, want[c.Row], c.Readings)
		}
		landed, _ := c.Readings.Get("landings")
		if c.Row == "995" && landed != "0" {
			t.Errorf("an executor went on from a gate that it could not check: %s", c.Readings)
		}
	}
	if !slices.ContainsFunc(res.Missing, func(m string) bool { return strings.Contains(m, "994") && strings.Contains(m, "control") }) {
		t.Errorf("a control that showed nothing leaves evidence: %q", res.Missing)
	}
}

// TestInterruptedRun: what did not run is missing and said to be, and nothing is left behind.
func TestInterruptedRun(t *testing.T) {
	rows, err := drill.Select("001-005")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res, err := drill.Run(ctx, drill.Options{
		Rows: rows, Stores: []config.Engine{config.SQLite}, Nets: []lab.LinkMode{lab.LinksUserland}, Exe: program(t),
		Out: filepath.Join(t.TempDir(), "out"), Parallel: 1, Warn: t.Output(), Progress: func(drill.Cell) { cancel() },
	})
	if err != nil {
		t.Fatal(err)
	}
	if !res.Interrupted || res.Evidence() || res.Count(drill.OK) == 0 || res.Count(drill.OK) == len(rows) {
		t.Errorf("got %+v", res)
	}
	if v := verified(t, res.Out); len(v.Problems) > 0 {
		t.Errorf("what ran is no longer whole: %q", v.Problems)
	}
}
