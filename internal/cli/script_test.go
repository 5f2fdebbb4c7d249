package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the end-to-end scripts: the binary as a user types it, each in a home of its own. $TALOSCONFIG names
// the practice cluster, $UNIQUE is a value that no node has yet. Besides testscript's own commands there are
//
//	capture NAME REGEXP   set $NAME to the first group of REGEXP in the last command's stdout or stderr
//	write FILE TEXT…      write a line, with variables expanded
//	replace FILE OLD NEW  replace OLD, which has to be there, by NEW
//	absent FILE           demand that there is no such file
func TestScripts(t *testing.T) {
	config := theLab(t).Talosconfig()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Vars = append(e.Vars, "HOME="+home, "USER=tester", "TALOSCONFIG="+config, "TZ=UTC", "UNIQUE="+unique("script"))
			return os.Mkdir(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"capture": capture, "write": writeLine, "replace": replaceText, "absent": absent,
		},
	})
}

func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME REGEXP")
	}
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout") + ts.ReadFile("stderr"))
	if len(m) != 2 {
		ts.Fatalf("no output matches %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}

func writeLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: write FILE TEXT…")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(args[1:], " ")+"\n"), 0o600))
}

func replaceText(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not contain %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(text, args[1], args[2])), 0o600))
}

func absent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: absent FILE")
	}
	if _, err := os.Lstat(ts.MkAbs(args[0])); err == nil {
		ts.Fatalf("%s exists", args[0])
	}
}
