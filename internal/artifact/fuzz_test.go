package artifact

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/secret"
)

// FuzzKeyFile: a key file opens what it sealed, or is refused without a word of what it holds.
func FuzzKeyFile(f *testing.F) {
	dir := f.TempDir()
	good := filepath.Join(dir, "good")
	if _, err := Create(good); err != nil {
		f.Fatal(err)
	}
	key, err := os.ReadFile(good)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(key)
	f.Add([]byte(nil))
	f.Add(bytes.ToLower(key))
	f.Add(append(bytes.Clone(key), key...))
	f.Add(key[:len(key)-3])
	f.Add([]byte("AGE-SECRET-KEY-1\nAGE-PLUGIN-X-1QQQ\n"))
	f.Add([]byte("# only a comment\n\xff\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(dir, fmt.Sprintf("key-%d", os.Getpid()))
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		k, err := Open(path)
		if err != nil {
			wantNothingOf(t, err.Error(), string(b), path)
			return
		}
		wantNothingOf(t, fmt.Sprintf("%v %+v %#v", k, k, *k), string(b), path)
		sealed, err := k.Seal(secret.Of([]byte("machine: {}\n")))
		if err != nil {
			t.Fatal(err)
		}
		opened, err := k.Unseal(sealed)
		if err != nil || string(opened.Reveal()) != "machine: {}\n" {
			t.Errorf("what it sealed it does not open: %v", err)
		}
	})
}

// wantNothingOf: no word of the secret text that is long enough to mean something is shown.
func wantNothingOf(t *testing.T, shown, text, path string) {
	t.Helper()
	shown = strings.ReplaceAll(shown, path, "")
	for _, word := range strings.Fields(text) {
		if len(word) >= 12 && strings.Contains(shown, word) {
			t.Errorf("%q is shown: %s", word, shown)
		}
	}
}

// FuzzUnseal: only what was sealed with the key is opened, and nothing else is said of the rest.
func FuzzUnseal(f *testing.F) {
	k, err := Create(filepath.Join(f.TempDir(), "key"))
	if err != nil {
		f.Fatal(err)
	}
	const plain = "machine: {}\n"
	sealed, err := k.Seal(secret.Of([]byte(plain)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add("")
	f.Add(sealed[:len(sealed)/2])
	f.Add(strings.Replace(sealed, "A", "B", 1))
	f.Add(strings.ReplaceAll(sealed, "\n", "\r\n"))
	f.Add("age-encryption.org/v1\n-> X25519 AAAA\n---\n")
	f.Fuzz(func(t *testing.T, armored string) {
		got, err := k.Unseal(armored)
		if err == nil && string(got.Reveal()) != plain {
			t.Errorf("opened as something that was never sealed: %d bytes", got.Len())
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("the error is %d bytes long", len(err.Error()))
		}
	})
}
