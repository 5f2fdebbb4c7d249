package tree

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Digest is SHA-256, in lower-case hex, over the value's canonical JSON: two spellings of one value have one digest.
func Digest(v any) string {
	sum := sha256.Sum256([]byte(canonical(v)))
	return hex.EncodeToString(sum[:])
}

// KeyedDigest is HMAC-SHA-256 over the same text. It serves for secrets: a plain digest of a short secret can be guessed.
func KeyedDigest(key []byte, v any) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(canonical(v)))
	return hex.EncodeToString(h.Sum(nil))
}

// JSON is the value as JSON with sorted keys, for showing.
func JSON(v any) string { return canonical(v) }
