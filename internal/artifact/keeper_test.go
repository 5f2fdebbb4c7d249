package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/clewops/clew/internal/secret"
)

const planted = "token: pl4nted-m4chine-t0ken\n"

func TestSealAndUnseal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "artifact.key")
	k, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	armored, err := k.Seal(secret.Of([]byte(planted)))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(armored, "pl4nted") || !strings.HasPrefix(armored, "-----BEGIN AGE ENCRYPTED FILE-----") {
		t.Errorf("not an armored age file, or the plaintext shows: %.80s", armored)
	}
	again, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := again.Unseal(armored)
	if err != nil || string(got.Reveal()) != planted {
		t.Errorf("got %q, %v", got.Reveal(), err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	key, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	secretLine := strings.TrimSpace(string(key[bytes.LastIndexByte(bytes.TrimSpace(key), '\n')+1:]))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if shown := fmt.Sprintf(verb, k); strings.Contains(shown, secretLine) || !strings.Contains(shown, "artifact.key") {
			t.Errorf("%s shows %s", verb, shown)
		}
	}
}

func TestUnsealRefuses(t *testing.T) {
	k, err := Create(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := Create(filepath.Join(t.TempDir(), "b"))
	if err != nil {
		t.Fatal(err)
	}
	armored, err := k.Seal(secret.Of(bytes.Repeat([]byte(planted), 100)))
	if err != nil {
		t.Fatal(err)
	}
	damaged := strings.Replace(armored, armored[len(armored)/2:len(armored)/2+4], "AAAA", 1)
	for name, tc := range map[string]struct {
		k    *Keeper
		text string
	}{"another key": {other, armored}, "damaged": {k, damaged}, "empty": {k, ""}, "plaintext": {k, planted}} {
		_, err := tc.k.Unseal(tc.text)
		if err == nil || strings.Contains(err.Error(), "pl4nted") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestOpenRefusesAKeyFileThatIsNone(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	k, err := os.ReadFile(func() string {
		path := filepath.Join(dir, "good")
		if _, err := Create(path); err != nil {
			t.Fatal(err)
		}
		return path
	}())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		write("open", string(k), 0o644), write("empty", "", 0o600), write("text", "AGE-SECRET-KEY-1pl4nted", 0o600),
		write("large", strings.Repeat("#\n", maxKeyFile), 0o600), dir,
	} {
		if _, err := Open(path); err == nil || strings.Contains(err.Error(), "pl4nted") {
			t.Errorf("%s: error %v", filepath.Base(path), err)
		}
	}
}

// TestOpenMakesNoKey: what is there could not be decrypted with a new one.
func TestOpenMakesNoKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "typo")
	if _, err := Open(path); !errors.Is(err, ErrNoKey) {
		t.Errorf("error %v, want %v", err, ErrNoKey)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("opening made a key")
	}
}

func TestManyCreateOneKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	keepers := make([]*Keeper, 8)
	var wg sync.WaitGroup
	for i := range keepers {
		wg.Go(func() {
			k, err := Create(path)
			if err != nil {
				t.Error(err)
			}
			keepers[i] = k
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	armored, err := keepers[0].Seal(secret.Of([]byte(planted)))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keepers {
		if _, err := k.Unseal(armored); err != nil {
			t.Fatal("processes that start at once use different keys:", err)
		}
	}
}
