package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/secret"
)

// tokenPrefix lets scanners of repositories and logs recognise a token that got there.
const tokenPrefix = "clew_"

// TokenSpec says what a token is to be.
type TokenSpec struct {
	Name  string
	Kind  IdentityKind // Token or Agent
	Roles []string     // of those that its creator holds, but approver and recovery-admin
}

// CreateToken makes a token, or an agent's, for which who answers from now on. The secret is in the result and nowhere
// else: the store keeps its hash.
func (s *Store) CreateToken(ctx context.Context, who Who, spec TokenSpec) (secret.Bytes, Identity, error) {
	i := Identity{Name: spec.Name, Kind: spec.Kind, Assurance: ledger.Authenticated, Responsible: who.Identity}
	if spec.Kind != Token && spec.Kind != Agent {
		return secret.Bytes{}, i, fmt.Errorf("store: %q is no kind of token", spec.Kind)
	}
	if err := checkName(spec.Name); err != nil {
		return secret.Bytes{}, i, err
	}
	var err error
	if i.Roles, err = checkRoles(spec.Kind, spec.Roles); err != nil {
		return secret.Bytes{}, i, err
	}
	text := tokenPrefix + rand.Text() + rand.Text() // 260 bits
	err = s.update(ctx, locks{identities: exclusive}, "the token "+spec.Name, func(tx *Tx) error {
		creator, err := tx.mayAnswer(who, i.Roles)
		if err != nil {
			return err
		}
		i, err = tx.createIdentity(i, hashToken([]byte(text)), creator, "")
		return err
	})
	if err != nil {
		return secret.Bytes{}, i, err
	}
	return secret.Of([]byte(text)), i, nil
}

// mayAnswer: a token is answered for by an unrevoked person, and can do nothing that this person cannot.
func (tx *Tx) mayAnswer(who Who, roles []string) (ledger.Actor, error) {
	person, err := tx.identity(who.Identity)
	if errors.Is(err, sql.ErrNoRows) {
		return ledger.Actor{}, unknownIdentity(who.Identity)
	}
	if err != nil {
		return ledger.Actor{}, err
	}
	if person.Kind != Person {
		return ledger.Actor{}, refusal.New("identities", "not-a-person",
			fmt.Sprintf("%s is a %s: only a person can answer for a token", person.Name, person.Kind), "")
	}
	for _, r := range roles {
		if no := Authorize(person, r); no != nil {
			return ledger.Actor{}, no
		}
	}
	role := who.Role
	if !slices.Contains(person.Roles, role) {
		role = ""
	}
	if person.RevokedRevision != 0 {
		return ledger.Actor{}, Authorize(person, role)
	}
	epoch, err := tx.epoch()
	return ledger.Actor{Identity: person.Name, Role: role, Assurance: who.Assurance, Epoch: epoch}, err
}

// IdentityByToken is whose secret this is. An unknown secret and a revoked token are refusals; the text of neither says
// which, nor shows the secret.
func (s *Store) IdentityByToken(ctx context.Context, token secret.Bytes) (Identity, error) {
	var i Identity
	err := s.view(ctx, func(tx *Tx) error {
		var err error
		i, err = scanIdentity(tx.row(selectIdentity+` WHERE token_hash = $1`, hashToken(token.Reveal())).Scan)
		if errors.Is(err, sql.ErrNoRows) || err == nil && i.RevokedRevision != 0 {
			return refusal.New("authentication", "token", "the token is not valid here, or was revoked", "clew admin token create NAME")
		}
		return err
	})
	if err != nil {
		return Identity{}, err
	}
	return i, nil
}

// RevokeToken ends a token for ever. The person who answers for it may do so too.
func (s *Store) RevokeToken(ctx context.Context, who Who, name, reason string) (Identity, error) {
	var i Identity
	err := s.update(ctx, locks{identities: exclusive}, "the revocation of "+name, func(tx *Tx) error {
		var err error
		if i, err = tx.standingIdentity(name); err != nil {
			return err
		}
		if i.Kind == Person {
			return refusal.New("identities", "not-a-token", name+" is a person", "clew admin identity revoke "+name+" --reason TEXT")
		}
		var actor ledger.Actor
		if i.Responsible == who.Identity {
			actor, err = tx.mayAnswer(who, nil)
		} else {
			actor, err = tx.acting(who, RoleApprover, RoleRecoveryAdmin)
		}
		if err != nil {
			return err
		}
		i, err = tx.revokeIdentity(i, actor, reason)
		return err
	})
	return i, err
}

// hashToken needs no salt: the secret is random and long.
func hashToken(secret []byte) string {
	sum := sha256.Sum256(secret)
	return hex.EncodeToString(sum[:])
}
