package config

import (
	"fmt"
	"log/slog"
)

// withheld is what is shown instead of a secret.
const withheld = "REDACTED"

// Secret is a value that no formatting, encoding or logging shows. Only Reveal gives it out.
//
// The value sits behind a function: package fmt prints the content of unexported fields without asking their methods,
// and of a function it can print only the address.
type Secret struct{ reveal func() string }

// NewSecret wraps a value.
func NewSecret(value string) Secret { return Secret{reveal: func() string { return value }} }

// Reveal returns the value, "" for the zero Secret. Hand it to whatever needs it and to nothing else.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// String shows that something is withheld.
func (s Secret) String() string { return withheld }

// Format shows the same under every verb.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, withheld) }

// MarshalText is what JSON, YAML and text encoders write.
func (s Secret) MarshalText() ([]byte, error) { return []byte(withheld), nil }

// LogValue is what slog writes.
func (s Secret) LogValue() slog.Value { return slog.StringValue(withheld) }
