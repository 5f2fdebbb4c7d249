// Package artifact encrypts machine configurations for keeping, and decrypts them in memory. It keeps nothing itself: the
// ciphertext goes to the store, the key stays in a file outside of the database, so that a copy of either alone opens
// nothing.
package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/clewops/clew/internal/secret"
)

// maxKeyFile is far above the size of a key file, in bytes.
const maxKeyFile = 64 << 10

// maxPlain bounds what is decrypted, in bytes: no machine configuration is larger.
const maxPlain = 32 << 20

// Keeper encrypts and decrypts with the keys of one file: with the first it encrypts, with any of them it decrypts, so
// that a key can be replaced by putting a new one before it. It is safe for concurrent use.
type Keeper struct {
	path       string
	recipient  age.Recipient
	identities []age.Identity
}

// ErrNoKey says that there is no key file.
var ErrNoKey = errors.New("there is no such file")

// Create opens the key file, and makes it (mode 0600, its directory 0700) where there is none. It is for a store that
// holds no artifact yet: with a new key none that is there could be decrypted.
func Create(path string) (*Keeper, error) {
	k, err := Open(path)
	if !errors.Is(err, ErrNoKey) {
		return k, err
	}
	if err := create(path); err != nil {
		return nil, fmt.Errorf("the key file %q: %w", path, bare(err))
	}
	return Open(path)
}

// Open reads the key file. A file that others may read is an error: what it protects is no longer protected.
func Open(path string) (*Keeper, error) {
	b, err := readKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the key file %q: %w", path, ErrNoKey)
	}
	if err != nil {
		return nil, fmt.Errorf("the key file %q: %w", path, bare(err))
	}
	identities, err := age.ParseIdentities(bytes.NewReader(b))
	if err != nil || len(identities) == 0 {
		// The parser may quote the line that it stumbles over.
		return nil, fmt.Errorf("the key file %q does not hold age keys", path)
	}
	k := &Keeper{path: path, identities: identities}
	switch first := identities[0].(type) {
	case *age.X25519Identity:
		k.recipient = first.Recipient()
	case *age.HybridIdentity:
		k.recipient = first.Recipient()
	default:
		return nil, fmt.Errorf("the first key in %q is of a kind that only decrypts", path)
	}
	return k, nil
}

func readKeyFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("others may read it (mode %04o): chmod 600, and replace the key if they did", info.Mode().Perm())
	case info.Size() > maxKeyFile:
		return nil, errors.New("it is too large for a key file")
	}
	return os.ReadFile(path)
}

// create writes a new key. Of several processes that do so at once one wins, and all use its key: the file appears under
// its name whole or not at all.
func create(path string) error {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = fmt.Fprintf(f, "# Decrypts the machine configurations in the store. Back it up apart from the database.\n# public key: %s\n%s\n",
		identity.Recipient(), identity)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// Nothing may be encrypted with a key whose name a power cut could still take away.
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Seal encrypts a configuration into an armored age file.
func (k *Keeper) Seal(plain secret.Bytes) (string, error) {
	var out strings.Builder
	a := armor.NewWriter(&out)
	w, err := age.Encrypt(a, k.recipient)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(plain.Reveal()); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	if err := a.Close(); err != nil {
		return "", err
	}
	return out.String(), nil
}

// ErrOtherKey says that an artifact was encrypted with a key that is not in the key file.
var ErrOtherKey = errors.New("it was encrypted with another key")

// Opens says whether one of the keys is the one that an artifact was encrypted with; it decrypts nothing of it.
func (k *Keeper) Opens(armored string) error {
	_, err := k.reader(armored)
	return err
}

func (k *Keeper) reader(armored string) (io.Reader, error) {
	r, err := age.Decrypt(armor.NewReader(strings.NewReader(armored)), k.identities...)
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return nil, fmt.Errorf("%w than those in %q", ErrOtherKey, k.path)
	}
	if err != nil {
		return nil, errors.New("it is not a sound age file")
	}
	return r, nil
}

// Unseal decrypts what Seal made. The plaintext is in memory only.
func (k *Keeper) Unseal(armored string) (secret.Bytes, error) {
	r, err := k.reader(armored)
	if err != nil {
		return secret.Bytes{}, err
	}
	b, err := io.ReadAll(io.LimitReader(r, maxPlain+1))
	switch {
	case err != nil:
		return secret.Bytes{}, errors.New("it is damaged")
	case len(b) > maxPlain:
		return secret.Bytes{}, errors.New("it is larger than any configuration")
	}
	return secret.Of(b), nil
}

// Format shows where the keys are and never the keys.
func (k *Keeper) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "keys of %q", k.path) }

func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
