package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// IdentityKind says what stands behind an identity.
type IdentityKind string

// Kinds of identities.
const (
	Person IdentityKind = "person"
	Token  IdentityKind = "token" // a program, on a person's responsibility
	Agent  IdentityKind = "agent" // a token that an AI agent holds
)

// Identity is somebody whom the ledger names. Its revocation is final, and its name is never given again.
type Identity struct {
	Name            string           `json:"name"`
	Kind            IdentityKind     `json:"kind"`
	Assurance       ledger.Assurance `json:"assurance"`
	Roles           []string         `json:"roles"`                 // sorted
	Responsible     string           `json:"responsible,omitempty"` // the person who answers for a token or an agent
	CreatedRevision int64            `json:"created_revision"`      // on the identity's own timeline, as the others
	RevokedRevision int64            `json:"revoked_revision,omitempty"`
	Revision        int64            `json:"revision"`
}

// IdentityBody is the body of entries about an identity: how it stands after the entry.
type IdentityBody struct {
	Identity  Identity `json:"identity"`
	TokenHash string   `json:"token_hash,omitempty"` // SHA-256 of a token's secret, in hex
	Text      string   `json:"text,omitempty"`
}

func identityScope(name string) ledger.Scope { return ledger.Scope{Kind: ledger.Identity, ID: name} }

const selectIdentity = `SELECT name, kind, assurance, roles, responsible, created_revision, revoked_revision, revision
	FROM identities`

func scanIdentity(scan func(...any) error) (Identity, error) {
	var i Identity
	err := scan(&i.Name, &i.Kind, &i.Assurance, intoJSON(&i.Roles), &i.Responsible, &i.CreatedRevision,
		&i.RevokedRevision, &i.Revision)
	return i, err
}

// identity reads one identity; sql.ErrNoRows when nobody has the name.
func (tx *Tx) identity(name string) (Identity, error) {
	return scanIdentity(tx.row(selectIdentity+` WHERE name = $1`, name).Scan)
}

// EnsureLocalIdentity is the identity that a local store's user goes by. The first one of a store is created, with all
// roles; afterwards an unknown name is a refusal. It writes nothing when the name is known.
func (s *Store) EnsureLocalIdentity(ctx context.Context, name string) (Identity, error) {
	i, known, err := s.firstOrKnown(ctx, name)
	if err != nil || known {
		return i, err
	}
	if err := checkName(name); err != nil {
		return i, err
	}
	err = s.update(ctx, locks{identities: exclusive}, "the first identity "+name, func(tx *Tx) error {
		var others int64
		if err := tx.row(`SELECT COUNT(*) FROM identities`).Scan(&others); err != nil {
			return err
		}
		if others > 0 { // another process was first
			return unknownIdentity(name)
		}
		roles := Roles()
		slices.Sort(roles)
		i = Identity{Name: name, Kind: Person, Assurance: ledger.Asserted, Roles: roles}
		epoch, err := tx.epoch()
		if err != nil {
			return err
		}
		actor := ledger.Actor{Identity: name, Assurance: ledger.Asserted, Epoch: epoch}
		i, err = tx.createIdentity(i, "", actor, "the first identity of this store")
		return err
	})
	return i, err
}

func unknownIdentity(name string) *refusal.Refusal {
	return refusal.New("authorization", "unknown-identity", fmt.Sprintf("nobody is known as %q here: a recovery-admin admits people; --as gives another name", name),
		"clew admin identity create "+name)
}

func (s *Store) firstOrKnown(ctx context.Context, name string) (i Identity, known bool, err error) {
	err = s.view(ctx, func(tx *Tx) error {
		i, err = tx.identity(name)
		if err == nil {
			known = true
			if i.RevokedRevision != 0 {
				return refusal.New("authorization", "identity-revoked", fmt.Sprintf("the identity %s was revoked", name), "")
			}
			return nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		var others int64
		if err := tx.row(`SELECT COUNT(*) FROM identities`).Scan(&others); err != nil {
			return err
		}
		if others > 0 {
			return unknownIdentity(name)
		}
		return nil
	})
	return i, known, err
}

// CreateIdentity admits a person. It takes a recovery-admin.
func (s *Store) CreateIdentity(ctx context.Context, who Who, name string, assurance ledger.Assurance, roles []string) (Identity, error) {
	if err := checkName(name); err != nil {
		return Identity{}, err
	}
	roles, err := checkRoles(Person, roles)
	if err != nil {
		return Identity{}, err
	}
	i := Identity{Name: name, Kind: Person, Assurance: assurance, Roles: roles}
	err = s.update(ctx, locks{identities: exclusive}, "the identity "+name, func(tx *Tx) error {
		actor, err := tx.acting(who, RoleRecoveryAdmin)
		if err != nil {
			return err
		}
		i, err = tx.createIdentity(i, "", actor, "")
		return err
	})
	return i, err
}

// createIdentity writes a new identity under the exclusive lock.
func (tx *Tx) createIdentity(i Identity, tokenHash string, actor ledger.Actor, text string) (Identity, error) {
	_, err := tx.identity(i.Name)
	if err == nil {
		return i, refusal.New("identities", "name-taken",
			fmt.Sprintf("the name %s is or was somebody's: names are never given again", i.Name), "clew admin identity list")
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return i, err
	}
	scope := identityScope(i.Name)
	if i.CreatedRevision, err = tx.next(scope); err != nil {
		return i, err
	}
	i.Revision = i.CreatedRevision
	if _, err := tx.append(scope, dispatch.EntryIdentityCreated, actor, nil, IdentityBody{Identity: i, TokenHash: tokenHash, Text: text}); err != nil {
		return i, err
	}
	return i, tx.exec1(`INSERT INTO identities (name, kind, assurance, roles, responsible, token_hash, created_revision,
		revoked_revision, revision) VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8)`,
		i.Name, i.Kind, i.Assurance, asJSON(i.Roles), i.Responsible, tokenHash, i.CreatedRevision, i.Revision)
}

// SetRoles replaces an identity's roles. It takes a recovery-admin. Approvals given before stay: to take those back,
// revoke them or the identity.
func (s *Store) SetRoles(ctx context.Context, who Who, name string, roles []string, reason string) (Identity, error) {
	var i Identity
	err := s.update(ctx, locks{identities: exclusive}, "the roles of "+name, func(tx *Tx) error {
		actor, err := tx.acting(who, RoleRecoveryAdmin)
		if err != nil {
			return err
		}
		if i, err = tx.standingIdentity(name); err != nil {
			return err
		}
		if i.Roles, err = checkRoles(i.Kind, roles); err != nil {
			return err
		}
		if err := tx.keepAdmin(name, slices.Contains(i.Roles, RoleRecoveryAdmin)); err != nil {
			return err
		}
		i, err = tx.changeIdentity(i, dispatch.EntryIdentityRoles, actor, reason)
		return err
	})
	return i, err
}

// RevokeIdentity ends an identity for ever, and with it what its approvals are worth: no commitment and no attempt is
// recorded after it on their strength. It takes an approver or a recovery-admin, waits for the commitments and attempts
// that already hold the lock, and locks no machine. The tokens that the identity answers for end with it.
//
// Plans that are left with too few approvals are marked on their machines' timelines afterwards; the comparisons do not
// wait for that.
func (s *Store) RevokeIdentity(ctx context.Context, who Who, name, reason string) (Identity, error) {
	var i Identity
	err := s.update(ctx, locks{identities: exclusive}, "the revocation of "+name, func(tx *Tx) error {
		actor, err := tx.acting(who, RoleApprover, RoleRecoveryAdmin)
		if err != nil {
			return err
		}
		if i, err = tx.standingIdentity(name); err != nil {
			return err
		}
		if err := tx.keepAdmin(name, false); err != nil {
			return err
		}
		wards, err := list(tx, scanIdentity, selectIdentity+` WHERE responsible = $1 AND revoked_revision = 0 ORDER BY name`, name)
		if err != nil {
			return err
		}
		for _, w := range wards {
			if _, err := tx.revokeIdentity(w, actor, name+", who answers for it, was revoked"); err != nil {
				return err
			}
		}
		i, err = tx.revokeIdentity(i, actor, reason)
		return err
	})
	return i, err
}

func (tx *Tx) revokeIdentity(i Identity, actor ledger.Actor, reason string) (Identity, error) {
	var err error
	if i.RevokedRevision, err = tx.next(identityScope(i.Name)); err != nil {
		return i, err
	}
	return tx.changeIdentity(i, dispatch.EntryIdentityRevoked, actor, reason)
}

func (tx *Tx) changeIdentity(i Identity, kind string, actor ledger.Actor, reason string) (Identity, error) {
	scope := identityScope(i.Name)
	var err error
	if i.Revision, err = tx.next(scope); err != nil {
		return i, err
	}
	if _, err := tx.append(scope, kind, actor, nil, IdentityBody{Identity: i, Text: reason}); err != nil {
		return i, err
	}
	return i, tx.exec1(`UPDATE identities SET roles = $1, revoked_revision = $2, revision = $3 WHERE name = $4`,
		asJSON(i.Roles), i.RevokedRevision, i.Revision, i.Name)
}

func (tx *Tx) standingIdentity(name string) (Identity, error) {
	i, err := tx.identity(name)
	if errors.Is(err, sql.ErrNoRows) {
		return i, found(err, "identity", name)
	}
	if err == nil && i.RevokedRevision != 0 {
		return i, refusal.New("identities", "identity-revoked", fmt.Sprintf("the identity %s is revoked, for ever", name), "")
	}
	return i, err
}

// keepAdmin refuses to leave the store without anyone who can admit people and recover it.
func (tx *Tx) keepAdmin(name string, stays bool) error {
	if stays {
		return nil
	}
	all, err := list(tx, scanIdentity, selectIdentity+` WHERE revoked_revision = 0`)
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.Name != name && slices.Contains(i.Roles, RoleRecoveryAdmin) {
			return nil
		}
	}
	return refusal.New("identities", "last-admin",
		fmt.Sprintf("%s is the only recovery-admin: without one nobody could be admitted and no restore be recovered", name),
		"clew admin identity create NAME --role recovery-admin")
}

// Identities lists all, revoked ones too, by name.
func (s *Store) Identities(ctx context.Context) ([]Identity, error) {
	var out []Identity
	err := s.view(ctx, func(tx *Tx) (err error) {
		out, err = list(tx, scanIdentity, selectIdentity+` ORDER BY name`)
		return err
	})
	return out, err
}

// Identity reads one; ErrNotFound when nobody has or had the name.
func (s *Store) Identity(ctx context.Context, name string) (Identity, error) {
	var i Identity
	err := s.view(ctx, func(tx *Tx) (err error) {
		i, err = tx.identity(name)
		return found(err, "identity", name)
	})
	return i, err
}

// checkName refuses names that could be taken for something else when read in a line of text or a command.
func checkName(name string) error {
	bad := func(r rune) bool {
		return !(unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._@+-", r))
	}
	if name == "" || len(name) > 100 || strings.ContainsFunc(name, bad) || strings.HasPrefix(name, "-") {
		return refusal.New("identities", "bad-name",
			fmt.Sprintf("%.100q cannot be a name: use up to 100 letters, digits and . _ @ + -", name), "")
	}
	return nil
}

// checkRoles sorts roles and refuses unknown ones, and those that the kind never holds.
func checkRoles(kind IdentityKind, roles []string) ([]string, error) {
	out := slices.Compact(slices.Sorted(slices.Values(roles)))
	for _, r := range out {
		if !slices.Contains(Roles(), r) {
			return nil, refusal.New("identities", "unknown-role", fmt.Sprintf("no role is called %q; roles: %s", r, strings.Join(Roles(), ", ")), "")
		}
		if kind != Person && slices.Contains(onlyPeople, r) {
			return nil, refusal.New("identities", "only-people", fmt.Sprintf("a %s never holds %s", kind, r), "")
		}
	}
	if out == nil {
		out = []string{}
	}
	return out, nil
}
