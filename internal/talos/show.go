package talos

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// longest is how much of a value is shown, in bytes; of longer ones the part that differs.
const longest = 400

// shown is both values as they are shown.
func shown(older, newer leaf) (string, string) {
	front := 0
	for front < min(len(older.text), len(newer.text)) && older.text[front] == newer.text[front] {
		front++
	}
	return older.from(front), newer.from(front)
}

// String is the value: a certificate by name, other strings quoted.
func (l leaf) String() string {
	if !l.quoted {
		return l.text
	}
	if name := certificates(l.text); name != "" {
		return name
	}
	return strconv.QuoteToGraphic(l.text)
}

// from is the value around the place where a difference begins.
func (l leaf) from(at int) string {
	if len(l.text) <= longest || certificates(l.text) != "" {
		return l.String()
	}
	start := max(0, min(at-40, len(l.text)-longest))
	for start > 0 && !utf8.RuneStart(l.text[start]) {
		start--
	}
	end := start + longest
	for end < len(l.text) && !utf8.RuneStart(l.text[end]) {
		end++
	}
	part := leaf{text: l.text[start:min(end, len(l.text))], quoted: l.quoted}
	return fmt.Sprintf("%s (of %d bytes, from byte %d)", part, len(l.text), start)
}

// certificates names the certificates that a value consists of, in PEM or in base64 of it; "" for anything else.
func certificates(text string) string {
	rest := []byte(text)
	if decoded := decodedPEM(text); decoded != nil {
		rest = decoded
	}
	var names []string
	for {
		block, after := pem.Decode(rest)
		if block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil {
			return ""
		}
		sum := sha256.Sum256(block.Bytes)
		names = append(names, fmt.Sprintf("certificate %s until %s (sha256 %s)",
			strconv.QuoteToGraphic(c.Subject.String()), c.NotAfter.UTC().Format(time.DateOnly), hex.EncodeToString(sum[:])[:12]))
		rest = after
	}
	if len(strings.TrimSpace(string(rest))) > 0 {
		return ""
	}
	return strings.Join(names, ", ")
}
