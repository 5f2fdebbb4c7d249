// Package refusal holds two of the three answers that are not success: a rule said no (Refusal), and something may
// have happened that nobody has seen (Unknown). Every other error is a failure: it could not be done or found out.
//
// The three never mix: they have different exit codes, records and words. This package decides nothing; it only
// carries the decision of the rule that refused.
package refusal

import (
	"errors"
	"fmt"
)

// None is the Comparison of a refusal that no numbered comparison of the dispatch contract made.
const None = -1

// Refusal says that a rule forbids something. Nothing was changed and nothing was sent.
type Refusal struct {
	Transaction string // "planning", "approval", "commitment", "attempt", "adoption", "settling", "recovery", ...
	Comparison  int    // 0-9 as numbered by the dispatch contract, or None
	Code        string // stable and machine-readable, e.g. "plan-revoked"
	Message     string // for the user: what the rule found
	Remedy      string // the next command to type, or what must change; may be empty
}

// Error says the transaction, the comparison where there is one, and what the rule found.
func (r *Refusal) Error() string {
	if r.Comparison == None {
		return fmt.Sprintf("refused (%s): %s", r.Transaction, r.Message)
	}
	return fmt.Sprintf("refused (%s, comparison %d): %s", r.Transaction, r.Comparison, r.Message)
}

// New makes a refusal that no numbered comparison made.
func New(transaction, code, message, remedy string) *Refusal {
	return &Refusal{Transaction: transaction, Comparison: None, Code: code, Message: message, Remedy: remedy}
}

// As returns the refusal in err's chain, if there is one.
func As(err error) (*Refusal, bool) {
	var r *Refusal
	ok := errors.As(err, &r)
	return r, ok
}

// Unknown says that something may have happened: a COMMIT whose answer was lost, a send without a response. It is
// never treated as done, and never as not done.
type Unknown struct {
	What   string // what may have happened, e.g. "the commitment of p-4fz"
	Err    error  // what hid the answer
	Remedy string // how to find out
}

// Error says what may have happened and why it is not known.
func (u *Unknown) Error() string { return fmt.Sprintf("unknown whether %s: %v", u.What, u.Err) }

// Unwrap returns what hid the answer.
func (u *Unknown) Unwrap() error { return u.Err }

// AsUnknown returns the Unknown in err's chain, if there is one.
func AsUnknown(err error) (*Unknown, bool) {
	var u *Unknown
	ok := errors.As(err, &u)
	return u, ok
}
