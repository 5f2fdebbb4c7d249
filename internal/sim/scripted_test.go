package sim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/config"
)

// The drill finds every history that the tests walk, and one that comes to something else is not taken for passed.
func TestScriptedForOthers(t *testing.T) {
	all, err := ScriptedHistories()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/histories/*")
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		written += strings.Count("\n"+string(b), "\nhistory")
	}
	if len(all) != written || written == 0 {
		t.Fatalf("%d histories were found, %d are written", len(all), written)
	}
	p := newPlace(t, config.SQLite, nil)
	for _, h := range all {
		if len(h.Without) > 0 {
			continue
		}
		if wrong, err := h.Run(p); wrong != "" || err != nil {
			t.Errorf("%s: %s %v", h.Name, wrong, err)
		}
		h.want += "and more\n"
		if wrong, err := h.Run(p); wrong == "" || err != nil {
			t.Errorf("%s: a wrong outcome passed: %v", h.Name, err)
		}
		break
	}
	for _, bad := range []string{"future\n----\n", "history without=nothing\n----\n", "history\nstart x1\n"} {
		if _, err := parseScripts("bad", bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
