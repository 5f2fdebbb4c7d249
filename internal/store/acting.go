package store

import (
	"database/sql"
	"errors"
	"slices"

	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// acting is the person as the author of an entry, or why they may not act so: the identity must exist, not be revoked and
// hold the role it names, which must be one of roles (the first is meant where it names none). Judging and approving is for
// people: agents and tokens never do. Read under the identities' lock. I11
func (tx *Tx) acting(w Who, roles ...string) (ledger.Actor, error) {
	a := ledger.Actor{Identity: w.Identity, Role: w.Role, Assurance: w.Assurance}
	if a.Role == "" {
		a.Role = roles[0]
	}
	if w.Agent && slices.Contains(onlyPeople, a.Role) {
		return a, refusal.New("authorization", "agent", "agents do not decide this: a person must", "")
	}
	return tx.actor(a, roles...)
}

// actor is acting for what the executor hands on.
func (tx *Tx) actor(a ledger.Actor, roles ...string) (ledger.Actor, error) {
	if a.Role == "" {
		a.Role = roles[0]
	}
	i, err := tx.identity(a.Identity)
	if errors.Is(err, sql.ErrNoRows) {
		return a, unknownIdentity(a.Identity)
	}
	if err != nil {
		return a, err
	}
	if !slices.Contains(roles, a.Role) {
		return a, refusal.New("authorization", "role", "this is not done as "+a.Role+": it takes "+roles[0], "")
	}
	if r := Authorize(i, a.Role); r != nil {
		return a, r
	}
	if a.Assurance == "" {
		a.Assurance = i.Assurance
	}
	a.Epoch, err = tx.epoch()
	return a, err
}
