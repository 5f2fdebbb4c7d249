package cli

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the database's own shell, as somebody with access to the file has it
)

// TestVerifyFindsWhatAShellChanged changes single rows behind the program's back. Each change must make verification
// fail, with exit code 5 and the place named.
func TestVerifyFindsWhatAShellChanged(t *testing.T) {
	h := imported(t)
	h.applied("worker-1", label("tampered", "no"))
	h.want(exitDone, "verify")
	file := filepath.Join(h.dir, ".local", "state", "clew", "store.db")
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	machine := h.machine("worker-1").ID
	for _, tc := range []struct{ change, names string }{
		{`UPDATE entries SET body = replace(body, 'worker-1', 'worker-9') WHERE scope_id = '` + machine + `' AND revision = 1`, machine + " revision 1"},
		{`UPDATE entries SET at = at + 1 WHERE scope_id = '` + machine + `' AND revision = 3`, machine + " revision 3"},
		{`UPDATE entries SET actor = replace(actor, 'operator', 'approver') WHERE scope_id = '` + machine + `' AND revision = 1`, machine + " revision 1"},
		{`DELETE FROM entries WHERE scope_id = '` + machine + `' AND revision = 5`, machine},
		{`DELETE FROM entries WHERE scope_id = '` + machine + `' AND revision > 8`, machine},
		{`DELETE FROM entries WHERE scope_id = '` + machine + `'`, machine},
		{`DELETE FROM scopes WHERE id = '` + machine + `'`, machine},
		{`UPDATE entries SET revision = CASE revision WHEN 2 THEN 903 WHEN 3 THEN 902 ELSE revision END WHERE scope_id = '` + machine + `'`, machine},
		{`UPDATE machines SET frozen = 1 - frozen WHERE id = '` + machine + `'`, machine},
		{`UPDATE operations SET state = 'failed'`, "op-"},
		{`DELETE FROM approvals`, "a-"},
		{`UPDATE installation SET epoch = 'x'`, "installation"},
		{`DELETE FROM installation`, "installation"},
		{`DELETE FROM scopes WHERE kind = 'installation'`, "installation"},
		{`DELETE FROM entries WHERE scope_kind = 'installation' AND revision = 1`, "installation"},
		{`DELETE FROM entries WHERE scope_kind = 'installation'`, "installation"},
	} {
		for _, suffix := range []string{"-wal", "-shm"} {
			_ = os.Remove(file + suffix)
		}
		if err := os.WriteFile(file, sound, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.ExecContext(t.Context(), `PRAGMA foreign_keys = OFF`)
		if err == nil {
			_, err = db.ExecContext(t.Context(), tc.change)
		}
		if err != nil {
			t.Fatalf("%s: %v", tc.change, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		r := h.run("verify")
		if r.code != exitNotHeld || !strings.Contains(r.stdout, "BROKEN") || !strings.Contains(r.stdout, tc.names) {
			t.Errorf("%s: exit %d, want %d and %q named\n%s%s", tc.change, r.code, exitNotHeld, tc.names, r.stdout, r.stderr)
		}
	}
}
