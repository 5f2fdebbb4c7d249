package dispatch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// Digest is the configuration digest: SHA-256, in lower-case hex, over the bytes with all trailing newlines (LF or
// CRLF) replaced by exactly one LF. Tools differ in the newline they leave at the end of a file; nothing else about
// the bytes is forgiven. The same function serves artifacts and read-backs.
func Digest(config []byte) string {
	for {
		trimmed := bytes.TrimSuffix(config, []byte("\n"))
		if len(trimmed) == len(config) {
			break
		}
		config = bytes.TrimSuffix(trimmed, []byte("\r"))
	}
	h := sha256.New()
	h.Write(config)
	h.Write([]byte("\n"))
	return hex.EncodeToString(h.Sum(nil))
}

// ShortDigest is the first 12 hex digits, for people.
func ShortDigest(d string) string {
	if len(d) > 12 {
		return d[:12]
	}
	return d
}
