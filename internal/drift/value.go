package drift

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/clewops/clew/internal/drift/tree"
	"github.com/clewops/clew/internal/secret"
)

// Content is an object's tree. It may hold secrets, so it neither prints nor encodes.
//
// The tree is behind a function because fmt would print a map inside an unexported field.
type Content struct{ reveal func() map[string]any }

// NewContent takes an object as a decoder gave it. It fails on what is no object.
func NewContent(object map[string]any) (Content, error) {
	n, err := tree.Normalize(object)
	if err != nil {
		return Content{}, err
	}
	m, _ := n.(map[string]any)
	if tree.Text(m, "kind") == "" || tree.Text(m, "apiVersion") == "" {
		return Content{}, errors.New("an object without apiVersion or kind")
	}
	return Content{reveal: func() map[string]any { return m }}, nil
}

// Reveal is the tree itself, not to be changed; nil for the zero Content.
func (c Content) Reveal() map[string]any {
	if c.reveal == nil {
		return nil
	}
	return c.reveal()
}

// Format hides the content whatever the verb.
func (c Content) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[content]")) }

// MarshalJSON refuses: an object's content is not for encoding.
func (c Content) MarshalJSON() ([]byte, error) {
	return nil, errors.New("an object's content is not encoded")
}

// Value is one side of a difference: Plain, Redacted or Absent.
type Value interface {
	fmt.Stringer
	// Digest tells equal values from different ones; for a secret it is keyed, and empty where there was no key.
	Digest() string
	sealed()
}

// Plain is a value that may be shown, and written back.
type Plain struct{ v any }

// PlainOf is v as a value that may be shown. Only a value that no secret is part of belongs in it.
func PlainOf(v any) Plain { return Plain{v} }

// Tree is the value itself, not to be changed.
func (p Plain) Tree() any { return p.v }

// Digest is the digest of the value.
func (p Plain) Digest() string { return tree.Digest(p.v) }

// String is a string as it is, anything else as JSON.
func (p Plain) String() string {
	if s, ok := p.v.(string); ok {
		return s
	}
	return tree.JSON(p.v)
}

// MarshalJSON is the value.
func (p Plain) MarshalJSON() ([]byte, error) { return json.Marshal(p.v) }

// MarshalYAML is the value.
func (p Plain) MarshalYAML() (any, error) { return p.v, nil }

func (Plain) sealed() {}

// Redacted stands for a secret value. It says that there is one and whether it is another's equal, and nothing that
// writes accepts it.
type Redacted struct {
	text   string
	digest string
}

// redact takes the value's digest with the key and lets the value go.
func redact(v any, key secret.Bytes) Redacted {
	r := Redacted{text: "[secret]"}
	if key.Len() > 0 {
		r.digest = tree.KeyedDigest(key.Reveal(), v)
	}
	return r
}

// opaque stands for a value that is encrypted on this side and could not be read.
func opaque() Redacted { return Redacted{text: "[encrypted]"} }

// Digest is the keyed digest of the value; "" where there was no key or no value to take it of.
func (r Redacted) Digest() string { return r.digest }

// String says that there is a secret.
func (r Redacted) String() string { return r.text }

// MarshalJSON is the text that stands for the secret.
func (r Redacted) MarshalJSON() ([]byte, error) { return json.Marshal(r.text) }

// MarshalYAML is the text that stands for the secret.
func (r Redacted) MarshalYAML() (any, error) { return r.text, nil }

func (Redacted) sealed() {}

// Absent is no value: the side has no such field, or not the object.
type Absent struct{}

// absentDigest is nobody's digest of a value.
const absentDigest = "absent"

// Digest is the same for every absence.
func (Absent) Digest() string { return absentDigest }

// String is a dash.
func (Absent) String() string { return "–" }

// MarshalJSON is null.
func (Absent) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// MarshalYAML is null.
func (Absent) MarshalYAML() (any, error) { return nil, nil }

func (Absent) sealed() {}

// encryptedPrefix is how a value begins that SOPS encrypted.
const encryptedPrefix = "ENC[AES256_GCM,"

func encrypted(v any) bool {
	s, ok := v.(string)
	return ok && strings.HasPrefix(s, encryptedPrefix)
}
