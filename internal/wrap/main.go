package wrap

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/clewops/clew/internal/wrap/child"
)

// self is the name that is no tool's.
const self = "clewx"

// Exit codes of the wrapper itself; a command keeps its own.
const (
	exitUsage       = 64
	exitCannotStart = 126
	exitNotFound    = 127
)

const usage = `clewx stands before a tool and keeps what it does:
  TOOL ARGUMENTS...             when a link named TOOL leads here
  clewx exec -- TOOL ARGUMENTS  run one command
  clewx shim TOOL ARGUMENTS     what a script named TOOL runs
  clewx prompt                  what concerns this session now, for a prompt
`

// Main runs what the command line says, and gives the exit status; a command that ended by a signal ends this process by
// the same one.
func Main(argv []string) int {
	env := child.Environ()
	command, ok := commandOf(argv)
	switch {
	case ok:
		return Exec(command, env)
	case len(argv) == 2 && argv[1] == "prompt":
		if text := Prompt(env); text != "" {
			_, _ = os.Stdout.WriteString(text) // a prompt without it is a prompt
		}
		return 0
	default:
		say(usage)
		return exitUsage
	}
}

// commandOf is the command that a wrapper's arguments ask for.
func commandOf(argv []string) ([]string, bool) {
	if len(argv) == 0 {
		return nil, false
	}
	if name := filepath.Base(argv[0]); !strings.HasPrefix(name, self) {
		return argv, true
	}
	switch rest := argv[1:]; {
	case len(rest) >= 3 && rest[0] == "exec" && rest[1] == "--":
		return rest[2:], true
	case len(rest) >= 2 && rest[0] == "shim":
		return rest[1:], true
	default:
		return nil, false
	}
}

// Exec runs one command wrapped, and gives its exit status.
func Exec(command, env []string) int {
	caught := child.Catch()
	r := &run{argv: command, env: env}
	if status := r.find(); status != 0 {
		return status
	}
	if !r.nested {
		r.understand()
		r.begin()
		r.before()
	}
	ch, err := child.Start(child.Command{Path: r.path, Argv: r.childArgv(), Env: env}, caught)
	if err != nil {
		say(fmt.Sprintf("clew: %s: %v\n", r.path, err))
		r.notStarted()
		return exitCannotStart
	}
	placed := r.placeLate()
	exit, err := ch.Wait()
	<-placed
	if err != nil {
		say(fmt.Sprintf("clew: %s runs, and its end cannot be waited for: %v\n", r.path, err))
		return 1
	}
	r.end(exit)
	if exit.Signal != 0 {
		child.Die(exit.Signal)
	}
	return exit.Status
}

// say writes to stderr as it is. Nobody can be told that it failed.
func say(text string) {
	if f := child.Stderr(); f != nil {
		_, _ = f.WriteString(text)
	}
}
