package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
)

// usageError says that the command line itself is wrong.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usagef makes a usage error: exit code 64.
func usagef(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

// asUsage turns an error of the command-line parser into a usage error, and leaves errors that already have a
// meaning alone.
func asUsage(err error) error {
	var explicit *exitError
	if errors.As(err, &explicit) {
		return err
	}
	if _, ok := refusal.As(err); ok {
		return err
	}
	if _, ok := refusal.AsUnknown(err); ok {
		return err
	}
	return &usageError{err: err}
}

// nextError carries what to type next.
type nextError struct {
	err  error
	next string
}

func (e *nextError) Error() string { return e.err.Error() }
func (e *nextError) Unwrap() error { return e.err }

// withNext adds to a failure the command to type next, or several commands by lines; what is to be done besides belongs
// into the error. It keeps the error's meaning and exit code; of several in one
// chain the outermost is shown.
func withNext(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &nextError{err: err, next: fmt.Sprintf(format, args...)}
}

// report is an error as the user sees it, on screen or as JSON.
type report struct {
	Kind        string `json:"kind"` // usage, failed, refused, rejected, unknown, interrupted
	Code        string `json:"code,omitempty"`
	Transaction string `json:"transaction,omitempty"`
	Comparison  *int   `json:"comparison,omitempty"`
	Message     string `json:"message"`
	Next        string `json:"next,omitempty"` // the command to type; where there are several, one a line
	Exit        int    `json:"exit"`
}

// describe turns an error into what is shown of it.
func describe(err error) report {
	r := report{Kind: "failed", Message: err.Error(), Exit: exitCode(err)}
	var usage *usageError
	var rejected *rejectedError
	if refused, ok := refusal.As(err); ok {
		r.Kind, r.Code, r.Transaction = "refused", refused.Code, refused.Transaction
		r.Message, r.Next = refused.Message, refused.Remedy
		if refused.Comparison != refusal.None {
			r.Comparison = &refused.Comparison
		}
	} else if unknown, ok := refusal.AsUnknown(err); ok {
		r.Kind, r.Next = "unknown", unknown.Remedy
	} else if errors.As(err, &usage) {
		r.Kind = "usage"
	} else if errors.As(err, &rejected) {
		r.Kind = "rejected"
	} else if errors.Is(err, context.Canceled) {
		r.Kind = "interrupted"
	}
	var next *nextError
	if errors.As(err, &next) {
		r.Next = next.next
	}
	if r.Next == "" && r.Kind == "failed" && store.Away(err) {
		r.Next = "clew" // once that is seen to: how everything stands
	}
	r.Message = cut(r.Message, maxMessage)
	return r
}

// maxMessage is the longest error message, in bytes: an argument of any size is not played back.
const maxMessage = 3000

// finish prints what is left to say about err and returns the exit code.
func (a *app) finish(err error) int {
	code := exitCode(err)
	var explicit *exitError
	if err == nil || errors.As(err, &explicit) && explicit.err == nil {
		return code
	}
	r := describe(err)
	if r.Kind == "usage" && r.Next == "" {
		r.Next = a.helpCommand()
	}
	a.printReport(r)
	return code
}

// printReport writes an error to stderr in the form that -o asks for, so that a program that asked for JSON never has
// to parse prose.
func (a *app) printReport(r report) {
	a.voice.hush()
	if document, ok := a.document(map[string]report{"error": r}); ok {
		fmt.Fprint(a.stderr, document)
		return
	}
	fmt.Fprintln(a.stderr, r.screen())
	fmt.Fprint(a.stderr, nextLines("  ", r.Next))
}

// nextLines is what to type next, a line for each command; capitals stand for what the user fills in.
func nextLines(indent, next string) string {
	var b strings.Builder
	for command := range strings.Lines(next) {
		fmt.Fprintf(&b, "%snext: %s\n", indent, printable(strings.TrimSpace(command)))
	}
	return b.String()
}

// screen is the one line that says what happened.
func (r report) screen() string {
	message := printable(strings.TrimSpace(r.Message))
	switch r.Kind {
	case "refused":
		if r.Comparison != nil {
			return fmt.Sprintf("refused by clew (comparison %d): %s", *r.Comparison, message)
		}
		return "refused by clew: " + message
	case "rejected":
		return rejection(message)
	case "interrupted":
		return "clew: interrupted: " + message
	}
	return "clew: " + message
}
