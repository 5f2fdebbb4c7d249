package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/store/storetest"
)

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if r, ok := refusal.As(err); !ok || r.Code != code {
		t.Fatalf("got %v, want a refusal with code %s", err, code)
	}
}

func TestTheFirstIdentityHoldsAllRolesAndNoOtherIsMadeSo(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		i, err := s.EnsureLocalIdentity(ctx, "ann")
		if err != nil || len(i.Roles) != len(Roles()) || i.Kind != Person || i.Assurance != ledger.Asserted {
			t.Fatalf("%+v, %v", i, err)
		}
		before := headOf(t, s, identityScope("ann"))
		again, err := s.EnsureLocalIdentity(ctx, "ann")
		if err != nil || again.Revision != i.Revision || headOf(t, s, identityScope("ann")) != before {
			t.Fatalf("%+v, %v", again, err)
		}
		_, err = s.EnsureLocalIdentity(ctx, "bob")
		wantCode(t, err, "unknown-identity")
		all, err := s.Identities(ctx)
		if err != nil || len(all) != 1 {
			t.Fatalf("%d identities, %v", len(all), err)
		}
	})
}

func TestOfManyFirstIdentitiesThereIsOne(t *testing.T) {
	storetest.Each(t, func(t *testing.T, p storetest.Place) {
		openAt(t, p)
		errs := make(chan error)
		for n := range 5 {
			s := openAt(t, p)
			go func() {
				_, err := s.EnsureLocalIdentity(context.Background(), fmt.Sprintf("user%d", n))
				errs <- err
			}()
		}
		won := 0
		for range 5 {
			if err := <-errs; err == nil {
				won++
			} else if r, ok := refusal.As(err); !ok || r.Code != "unknown-identity" {
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d first identities", won)
		}
	})
}

func TestRevocationIsFinal(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		admit(t, s)
		if _, err := s.CreateIdentity(ctx, ann, "bob", ledger.Asserted, []string{RoleApprover, RoleOperator}); err != nil {
			t.Fatal(err)
		}
		i, err := s.RevokeIdentity(ctx, ann, "bob", "left")
		if err != nil || i.RevokedRevision != 2 || i.Revision != 2 {
			t.Fatalf("%+v, %v", i, err)
		}
		for what, try := range map[string]func() error{
			"revoked again":       func() error { _, err := s.RevokeIdentity(ctx, ann, "bob", "again"); return err },
			"given roles":         func() error { _, err := s.SetRoles(ctx, ann, "bob", Roles(), ""); return err },
			"used":                func() error { _, err := s.EnsureLocalIdentity(ctx, "bob"); return err },
			"acting":              func() error { return s.AttestInstance(ctx, Who{Identity: "bob"}, "i-x", "why") },
			"its name given anew": func() error { _, err := s.CreateIdentity(ctx, ann, "bob", ledger.Asserted, nil); return err },
		} {
			if err := try(); err == nil {
				t.Errorf("a revoked identity was %s", what)
			}
		}
		checkChain(t, s, identityScope("bob"))
		got, err := s.Identity(ctx, "bob")
		if err != nil || got.RevokedRevision != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
	})
}

func TestTheLastRecoveryAdminStays(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		admit(t, s)
		_, err := s.RevokeIdentity(ctx, ann, "ann", "a mistake")
		wantCode(t, err, "last-admin")
		_, err = s.SetRoles(ctx, ann, "ann", []string{RoleViewer}, "a mistake")
		wantCode(t, err, "last-admin")
		if _, err := s.CreateIdentity(ctx, ann, "bob", ledger.Asserted, []string{RoleRecoveryAdmin}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RevokeIdentity(ctx, Who{Identity: "bob", Role: RoleRecoveryAdmin}, "ann", "left"); err != nil {
			t.Fatal(err)
		}
	})
}

// A token's secret is shown once: the database holds its hash alone, and no error or entry the secret.
func TestTokens(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		admit(t, s)
		token, i, err := s.CreateToken(ctx, ann, TokenSpec{Name: "ci", Kind: Token, Roles: []string{RoleViewer, RoleAuthor}})
		if err != nil || i.Responsible != "ann" || i.Assurance != ledger.Authenticated {
			t.Fatalf("%+v, %v", i, err)
		}
		text := string(token.Reveal())
		if !strings.HasPrefix(text, tokenPrefix) || len(text) < 40 {
			t.Fatalf("the token has %d characters", len(text))
		}
		got, err := s.IdentityByToken(ctx, token)
		if err != nil || got.Name != "ci" || !slices.Equal(got.Roles, i.Roles) {
			t.Fatalf("%+v, %v", got, err)
		}
		_, err = s.IdentityByToken(ctx, secret.Of([]byte(text+"x")))
		wantCode(t, err, "token")
		if strings.Contains(err.Error(), text) {
			t.Fatal("the error shows it")
		}
		entries, err := s.Entries(ctx, EntryFilter{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := json.Marshal(entries)
		if err != nil || strings.Contains(string(all), text[len(tokenPrefix):]) {
			t.Fatalf("the ledger holds the secret, or: %v", err)
		}
		if _, err := s.RevokeToken(ctx, ann, "ci", "leaked"); err != nil {
			t.Fatal(err)
		}
		_, err = s.IdentityByToken(ctx, token)
		wantCode(t, err, "token")
	})
}

func TestTokensNeverDecideAndNeverOutgrowTheirPerson(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		admit(t, s)
		if _, err := s.CreateIdentity(ctx, ann, "bob", ledger.Asserted, []string{RoleAuthor}); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []IdentityKind{Token, Agent} {
			for _, role := range []string{RoleApprover, RoleRecoveryAdmin} {
				_, _, err := s.CreateToken(ctx, ann, TokenSpec{Name: "t", Kind: kind, Roles: []string{role}})
				wantCode(t, err, "only-people")
			}
		}
		_, _, err := s.CreateToken(ctx, Who{Identity: "bob"}, TokenSpec{Name: "t", Kind: Token, Roles: []string{RoleOperator}})
		wantCode(t, err, "role-missing")
		if _, _, err := s.CreateToken(ctx, Who{Identity: "bob"}, TokenSpec{Name: "t", Kind: Token, Roles: []string{RoleAuthor}}); err != nil {
			t.Fatal(err)
		}
		_, err = s.SetRoles(ctx, ann, "t", []string{RoleApprover}, "")
		wantCode(t, err, "only-people")
		_, _, err = s.CreateToken(ctx, Who{Identity: "t"}, TokenSpec{Name: "t2", Kind: Token})
		wantCode(t, err, "not-a-person")
		// With the person goes what the person answers for.
		if _, err := s.RevokeIdentity(ctx, ann, "bob", "left"); err != nil {
			t.Fatal(err)
		}
		got, err := s.Identity(ctx, "t")
		if err != nil || got.RevokedRevision == 0 {
			t.Fatalf("%+v, %v", got, err)
		}
	})
}

func TestNamesAndRolesAreChecked(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		admit(t, s)
		for _, name := range []string{"", "a b", "a\nb", "-x", "a/b", strings.Repeat("a", 101), "a\x1b[0m"} {
			_, err := s.CreateIdentity(ctx, ann, name, ledger.Asserted, nil)
			wantCode(t, err, "bad-name")
		}
		_, err := s.CreateIdentity(ctx, ann, "bob", ledger.Asserted, []string{"root"})
		wantCode(t, err, "unknown-role")
		if _, err := s.Identity(ctx, "bob"); !errors.Is(err, ErrNotFound) {
			t.Fatalf("got %v", err)
		}
	})
}
