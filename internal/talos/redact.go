package talos

import (
	"encoding/base64"
	"encoding/pem"
	"regexp"
	"strings"
)

// What is secret in a configuration is decided thrice, and one yes is enough: by Talos' own knowledge of its schema (see
// markSecrets), by the name under which a value stands, and by what it looks like. The last two are for what the schema
// leaves open: environments, files, manifests, arguments, whatever a later version adds.

// secretNames are names of fields whose value is never shown, in lower case without dashes and underscores.
var secretNames = map[string]bool{
	"auth": true, "authorization": true, "key": true, "keydata": true, "cookie": true, "bearer": true,
	"content": true, "contents": true, // of files and inline manifests
}

// secretParts make a name secret wherever they stand in it.
var secretParts = []string{
	"token", "secret", "passw", "passphrase", "privatekey", "presharedkey", "encryptionkey", "apikey", "accesskey", "credential",
}

// secretSections are names below which everything is secret, names of list entries excepted; headers are others.
var secretSections = map[string]bool{
	"env": true, "environment": true, "variables": true, "data": true, "stringdata": true,
}

func secretSection(name string) bool {
	return secretSections[name] || strings.HasSuffix(name, "header") || strings.HasSuffix(name, "headers")
}

// openNames are names whose values may look random and are public.
var openNames = map[string]bool{
	"image": true, "crt": true, "certificate": true, "certificates": true, "ca": true, "acceptedcas": true,
	"publickey": true, "serial": true, "wwid": true, "uuid": true, "modalias": true, "buspath": true,
	"hardwareaddr": true, "permanentaddr": true, "duidraw": true, "duidv6": true,
}

func plainName(s string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(s))
}

// field is the name that a path's value goes by: the last step that is not a place in a list.
func field(path []string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if !isPlace(path[i]) {
			return plainName(path[i])
		}
	}
	return ""
}

// secretByName says whether the value at path is secret for its place.
func secretByName(path []string) bool {
	name := field(path)
	if secretNames[name] {
		return true
	}
	for _, part := range secretParts {
		if strings.Contains(name, part) {
			return true
		}
	}
	for i, s := range path[:max(len(path)-1, 0)] {
		if secretSection(plainName(s)) {
			// The name of an entry of a list such as env: [{name: A, value: b}].
			return !(name == "name" && i < len(path)-2 && isPlace(path[len(path)-2]))
		}
	}
	return false
}

// openByName says whether the value at path may look like a secret and is none.
func openByName(path []string) bool {
	return openNames[field(path)] || strings.Join(path, ".") == "cluster.id"
}

var (
	privateKey = "PRIVATE KEY"
	assignment = regexp.MustCompile(`(?i)(passw(or)?d|passphrase|token|secret|api-?_?key|access-?_?key|private-?_?key|authorization)["']?\s*[=:]\s*\S`)
	userInfo   = regexp.MustCompile(`[^/\s@:]*:[^/\s@]+@`)
	bootstrap  = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`)
	imageSum   = regexp.MustCompile(`@?\bsha(256|512):[0-9a-f]+`)
	randomRun  = regexp.MustCompile(`[A-Za-z0-9]{20,}`)
	base64Run  = regexp.MustCompile(`[A-Za-z0-9+/]{22,}={0,2}`)
)

// looksSecret says whether s looks like something that should not be shown: a private key, a password in a URL or an
// assignment, or, unless open, a run of characters that no person chose.
func looksSecret(s string, open bool) bool {
	s = imageSum.ReplaceAllString(s, "")
	if holdsPrivateKey(s) || assignment.MatchString(s) || userInfo.MatchString(s) || bootstrap.MatchString(s) {
		return true
	}
	if open || certificates(s) != "" {
		return false
	}
	for _, run := range randomRun.FindAllString(s, -1) {
		if random(run) {
			return true
		}
	}
	for _, run := range base64Run.FindAllString(s, -1) {
		_, err := base64.StdEncoding.DecodeString(run)
		if c := count(run); err == nil && c.upper*6 >= len(run) && c.lower*6 >= len(run) {
			return true
		}
	}
	return false
}

func holdsPrivateKey(s string) bool {
	return strings.Contains(s, privateKey) || strings.Contains(string(decodedPEM(s)), privateKey)
}

// decodedPEM is what s holds when s is PEM in base64, the form in which Talos keeps keys and certificates, else nil.
func decodedPEM(s string) []byte {
	if len(s) < 40 || !strings.HasPrefix(s, "LS0t") {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
	if block, _ := pem.Decode(b); err != nil || block == nil {
		return nil
	}
	return b
}

type classes struct{ upper, lower, digit, distinct int }

func count(s string) (c classes) {
	var seen [256]bool
	for i := range len(s) {
		if !seen[s[i]] {
			seen[s[i]] = true
			c.distinct++
		}
		switch b := s[i]; {
		case b >= 'A' && b <= 'Z':
			c.upper++
		case b >= 'a' && b <= 'z':
			c.lower++
		case b >= '0' && b <= '9':
			c.digit++
		}
	}
	return c
}

// random says whether a run of letters and digits is more than a long word: digits strewn in, or capitals all over.
func random(run string) bool {
	c := count(run)
	if c.distinct < 8 {
		return false
	}
	letters := c.upper + c.lower
	return letters >= 2 && c.digit*8 >= len(run) || c.upper*3 >= letters && c.lower*3 >= letters
}
