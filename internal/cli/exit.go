package cli

import (
	"errors"
	"fmt"

	"github.com/clewops/clew/internal/refusal"
)

// Exit codes, the same for every command.
const (
	exitDone       = 0  // done, quiet
	exitFailure    = 1  // could not find out, or could not do it
	exitNeedsYou   = 2  // differences, or it waits for a person
	exitRefused    = 3  // refused by rule
	exitUnresolved = 4  // may have happened: unresolved or unaccounted
	exitNotHeld    = 5  // ended failed or rejected, or a verification did not hold
	exitUsage      = 64 // the command line itself is wrong
)

// exitError ends a command with a code of its own. A nil err prints nothing: the command has already said what there
// is to say (a table of differences, a verification report).
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exitWith is the error for "the answer is on the screen, and the exit code is code".
func exitWith(code int) error { return &exitError{code: code} }

// exitCode maps an error to the process's exit code. An explicit code wins, because the command that chose it knows
// more than the error's type says.
func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	var explicit *exitError
	if errors.As(err, &explicit) {
		return explicit.code
	}
	var usage *usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	if _, ok := refusal.As(err); ok {
		return exitRefused
	}
	if _, ok := refusal.AsUnknown(err); ok {
		return exitUnresolved
	}
	return exitFailure
}
