package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/clewops/clew/internal/refusal"
)

// armorHeader begins every armored age file. What does not begin with it is not taken: it could be a plaintext.
const armorHeader = "-----BEGIN AGE ENCRYPTED FILE-----"

// PutArtifact keeps an encrypted configuration under the digest of its plaintext; size is the plaintext's, in bytes.
// Where it is there already, the first author stays, and it counts as new for retention.
func (s *Store) PutArtifact(ctx context.Context, digest, armored string, size int, author string) error {
	if !strings.HasPrefix(armored, armorHeader) { // I7
		return fmt.Errorf("store: artifact %.20s is not an armored age file, and is not kept", digest)
	}
	return s.update(ctx, locks{}, fmt.Sprintf("artifact %.20s", digest), func(tx *Tx) error {
		return tx.exec1(`INSERT INTO artifacts (digest, ciphertext, size, author, created_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (digest) DO UPDATE SET ciphertext = CASE WHEN artifacts.ciphertext = '' THEN excluded.ciphertext
				ELSE artifacts.ciphertext END, created_at = excluded.created_at`,
			digest, armored, int64(size), author, tx.Now())
	})
}

// Artifact is the ciphertext of a configuration. One that was never kept is ErrNotFound; one whose keeping time ended is
// a refusal.
func (s *Store) Artifact(ctx context.Context, digest string) (string, error) {
	var armored string
	err := s.lookup(ctx, func(tx *Tx) error {
		return found(tx.row(`SELECT ciphertext FROM artifacts WHERE digest = $1`, digest).Scan(&armored), "artifact", digest)
	})
	if err == nil && armored == "" {
		return "", refusal.New("artifacts", "not-kept",
			fmt.Sprintf("the keeping time of configuration %.20s has ended: only its digest is left", digest), "")
	}
	return armored, err
}

// NewestArtifact is the ciphertext that was kept last, "" when none is kept: whoever keeps another one, has to hold the
// key of this one.
func (s *Store) NewestArtifact(ctx context.Context) (string, error) {
	var armored string
	err := s.lookup(ctx, func(tx *Tx) error {
		return tx.row(`SELECT ciphertext FROM artifacts WHERE ciphertext <> '' ORDER BY created_at DESC, digest LIMIT 1`).Scan(&armored)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return armored, err
}
