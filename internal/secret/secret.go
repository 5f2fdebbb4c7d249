// Package secret carries values that must not be printed and values that must not be written back. It is pure and does
// no encryption.
package secret

import (
	"errors"
	"fmt"
)

const hidden = "[secret]"

// Bytes holds a secret, such as a machine configuration. Every way of printing or encoding it hides it; Reveal is the
// one way out, so that a search for its name finds every use.
//
// The bytes are behind a function because fmt calls no methods on the unexported fields of a struct around it: it would
// print a slice, and prints only the address of a function.
type Bytes struct{ reveal func() []byte }

// Of wraps b, which the caller no longer uses.
func Of(b []byte) Bytes { return Bytes{reveal: func() []byte { return b }} }

// Reveal returns the secret itself; nil for the zero value.
func (s Bytes) Reveal() []byte {
	if s.reveal == nil {
		return nil
	}
	return s.reveal()
}

// Len is its size in bytes.
func (s Bytes) Len() int { return len(s.Reveal()) }

// Format hides the value whatever the verb.
func (s Bytes) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// String hides the value.
func (s Bytes) String() string { return hidden }

// MarshalText refuses: a secret that would be encoded is a mistake, not a thing to hide silently.
func (s Bytes) MarshalText() ([]byte, error) { return nil, errors.New("a secret cannot be encoded") }

// MarshalJSON refuses, as MarshalText does.
func (s Bytes) MarshalJSON() ([]byte, error) { return nil, errors.New("a secret cannot be encoded") }

// MarshalYAML refuses, as MarshalText does.
func (s Bytes) MarshalYAML() (any, error) { return nil, errors.New("a secret cannot be encoded") }

// Redacted is text from which secrets were taken out. It is for showing: it has no way back to bytes that could be
// applied, and no write path accepts the type.
type Redacted struct{ text string }

// Redact makes a Redacted of text that the caller has already cleaned.
func Redact(cleaned string) Redacted { return Redacted{text: cleaned} }

// String is the text to show.
func (r Redacted) String() string { return r.text }

// MarshalText is the text to show.
func (r Redacted) MarshalText() ([]byte, error) { return []byte(r.text), nil }
