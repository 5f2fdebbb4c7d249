package act

import "strings"

// Program is an agent or a pipeline that is known by name.
type Program struct {
	Name        string
	Kind        SessionKind
	ID          []string // variables that together are its session's id; all must be set
	Signs       []string // variables that show it is there, without saying which session
	Executables []string // base names of its process
	Scripts     []string // parts of an interpreter's first argument: ".../claude-code/cli.js"
}

// interpreters run an agent whose name is in their first argument.
var interpreters = []string{"node", "bun", "deno", "python", "python3", "ruby"}

// runs says whether a process is this program.
func (p Program) runs(proc Process) bool {
	name := ProgramName(proc.Exe)
	for _, e := range p.Executables {
		if name == e {
			return true
		}
	}
	for _, in := range interpreters {
		if name != in && !strings.HasPrefix(name, in+"3.") {
			continue
		}
		script := firstArgument(proc.Argv)
		for _, s := range p.Scripts {
			if script != "" && strings.Contains(script, s) {
				return true
			}
		}
	}
	return false
}

// firstArgument is the first argument of an interpreter that is no option of its own.
func firstArgument(argv []string) string {
	if len(argv) < 2 {
		return ""
	}
	for _, a := range argv[1:] {
		if !strings.HasPrefix(a, "-") {
			return a
		}
	}
	return ""
}

// ProgramName is a program's base name without a Windows suffix or a note that its file was replaced.
func ProgramName(exe string) string {
	exe = strings.TrimSuffix(exe, " (deleted)")
	if i := strings.LastIndexAny(exe, `/\`); i >= 0 {
		exe = exe[i+1:]
	}
	return strings.TrimSuffix(exe, ".exe")
}

// isWordRune says whether r may stand in a plain name.
func isWordRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
}
