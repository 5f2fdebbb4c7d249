package cli

import (
	"errors"
	"strings"

	"github.com/clewops/clew/internal/talos"
)

// rejectedError says that a node, not a rule of Clew's, said no.
type rejectedError struct {
	text string
	err  error
}

func (e *rejectedError) Error() string { return e.text }
func (e *rejectedError) Unwrap() error { return e.err }

// asRejection turns an answer of a node that refuses into a rejection. Anything else, such as no answer, stays what it
// is.
func asRejection(err error) error {
	var call *talos.CallError
	if errors.As(err, &call) && call.Answered {
		return &exitError{code: exitNotHeld, err: &rejectedError{text: err.Error(), err: err}}
	}
	return err
}

// rejection is what a node said no with, once: a reason on record may begin with the same words, or be withheld.
func rejection(reason string) string {
	const words = "rejected by the node"
	reason = strings.TrimLeft(strings.TrimPrefix(reason, words), ": ")
	if reason == "" {
		return words
	}
	return words + ": " + reason
}
