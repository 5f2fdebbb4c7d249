package drill_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/drill"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/store/storetest"
)

// drilled plays rows over userland links and fails the test for every cell that is not as its row expects.
func drilled(t *testing.T, rows []drill.Row, stores []config.Engine) drill.Result {
	t.Helper()
	exe := program(t)
	out := filepath.Join(t.TempDir(), "evidence")
	res, err := drill.Run(t.Context(), drill.Options{
		Rows: rows, Stores: stores, Nets: []lab.LinkMode{lab.LinksUserland}, Out: out, Exe: exe, Version: "test", Warn: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Cells {
		if c.Verdict != drill.OK {
			t.Errorf("%s: %s: %s\n expected %s\n read     %s", c.Key(), c.Verdict, c.Reason, c.Expectation, c.Readings)
			showTranscript(t, out, c)
		}
	}
	for _, l := range res.Leaks {
		t.Errorf("leak scan: %s", l)
	}
	return res
}

func showTranscript(t *testing.T, out string, c drill.Cell) {
	t.Helper()
	name := fmt.Sprintf("%s.%s.%s.txt", c.Row[:3], c.Store, c.Net)
	b, err := os.ReadFile(filepath.Join(out, "transcripts", name))
	if err != nil {
		t.Logf("no transcript: %v", err)
		return
	}
	t.Logf("%s:\n%s", name, b)
}

func verified(t *testing.T, dir string) drill.Verification {
	t.Helper()
	v, err := drill.Verify(dir)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRows plays every row that has no need of real kernel links, on every store.
func TestRows(t *testing.T) {
	res := drilled(t, drill.Rows(), storetest.Engines(t))
	if v := verified(t, res.Out); len(v.Problems) > 0 || v.Cells != len(res.Cells) || v.Ledgers != len(res.Cells) {
		t.Errorf("the evidence does not hold: %+v", v)
	}
}

// TestVerificationSeesEveryChange plays a few rows and then changes their evidence, each kind of file in its own way, with
// and without a new digest in the manifest. Without one any change has to show; with one, what other files still say.
func TestVerificationSeesEveryChange(t *testing.T) {
	rows, err := drill.Select("001,004,006")
	if err != nil {
		t.Fatal(err)
	}
	res := drilled(t, rows, []config.Engine{config.SQLite})
	if v := verified(t, res.Out); len(v.Problems) > 0 {
		t.Fatalf("untouched evidence does not hold: %q", v.Problems)
	}
	if res.Evidence() {
		t.Error("a partial run calls itself evidence")
	}
	swap := func(name, old, with string) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string {
			path := filepath.Join(dir, name)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(b), old) {
				t.Fatalf("%s has no %q to change", name, old)
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(b), old, with, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			return name
		}
	}
	remove := func(name string) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			return name
		}
	}
	for _, tc := range []struct {
		name     string
		change   func(*testing.T, string) string // returns the file
		resealed bool                            // shows even when the manifest is made to fit
	}{
		{"a reading", swap("cells.tsv", "; landings=1;", "; landings=0;"), true},
		{"a verdict", swap("cells.tsv", "\tok\t", "\tmismatch\t"), true},
		{"a skipped cell that says why", swap("cells.tsv", "\tok\t", "\tskipped\tno time"), true},
		{"an expectation", swap("cells.tsv", "\tplan=committed; ", "\t"), true},
		{"what was announced", swap("expectations.tsv", "landings=1", "landings=2"), true},
		{"an announced row", swap("expectations.tsv", "001\tsqlite", "005\tsqlite"), true},
		{"a transcript's reading", swap("transcripts/001.sqlite.userland.txt", "userland landings=1", "userland landings=2"), true},
		{"a transcript's note", swap("transcripts/001.sqlite.userland.txt", " is process ", " was process "), false},
		{"a transcript that is gone", remove("transcripts/004.sqlite.userland.txt"), true},
		{"a ledger's entry", swap("ledgers/001.sqlite.userland.jsonl", `"state":"completed"`, `"state":"cancelled"`), true},
		{"a ledger that is gone", remove("ledgers/001.sqlite.userland.jsonl"), true},
		{"a control's ledger", swap("ledgers/006.sqlite.userland.jsonl", `"operation.attempt"`, `"operation.moved"`), true},
		{"a claim to be evidence", swap("run.txt", "evidence: no", "evidence: yes"), true},
		{"a missing store", swap("run.txt", "missing: a partial run", "limit: a partial run"), true},
		{"a version", swap("run.txt", "version: test", "version: other"), false},
		{"a fault", swap("injections.log", "", "x\n"), false},
		{"a leak", swap("leak-scan.tsv", "machine secret\t", "machine secret\t1\t1\tcells.tsv\nother\t"), true},
		{"a control that was not found", swap("leak-scan.tsv", "\t1\tplanted.txt", "\t0\t"), true},
		{"what was planted", swap("planted.txt", "planted-", "planned-"), false},
		{"the manifest", swap("manifest.tsv", "\tcells.tsv\n", "\tcells.tsw\n"), true},
		{"a file too many", func(t *testing.T, dir string) string {
			if err := os.WriteFile(filepath.Join(dir, "extra"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			return "extra"
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(res.Out)); err != nil {
				t.Fatal(err)
			}
			file := tc.change(t, dir)
			if v := verified(t, dir); len(v.Problems) == 0 {
				t.Error("the change does not show")
			}
			if file == "manifest.tsv" {
				return
			}
			seal(t, dir)
			v := verified(t, dir)
			if tc.resealed && len(v.Problems) == 0 {
				t.Error("the change does not show once the manifest fits it")
			}
			if v.Digest == res.Digest {
				t.Error("the manifest's own digest did not move")
			}
		})
	}
}

// seal writes a manifest that fits what is there, as somebody would who wants a change not to show.
func seal(t *testing.T, dir string) {
	t.Helper()
	var lines []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "manifest.tsv" {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(b)
		lines = append(lines, fmt.Sprintf("%s\t%d\t%s\n", hex.EncodeToString(sum[:]), len(b), name))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	if err := os.WriteFile(filepath.Join(dir, "manifest.tsv"), []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}
