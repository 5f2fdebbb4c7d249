package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/clewops/clew/internal/store"
)

// idOf finds the id of a record of one of the kinds: an id, a unique prefix of one, or "-" for the last one seen.
func (a *app) idOf(ctx context.Context, st *store.Store, word string, kinds ...string) (string, error) {
	kind, id, err := a.find(ctx, st, word)
	if err != nil {
		return "", err
	}
	if !slices.Contains(kinds, kind) {
		return "", usagef("%s is a%s %s; this command takes a%s %s", id, n(kind), kind, n(kinds[0]), strings.Join(kinds, " or "))
	}
	return id, nil
}

// find finds any record.
func (a *app) find(ctx context.Context, st *store.Store, word string) (kind, id string, err error) {
	if word == "-" {
		if word, err = a.lastSeen(); err != nil {
			return "", "", err
		}
	}
	if strings.TrimSpace(word) == "" {
		return "", "", usagef("an id is empty")
	}
	kind, id, err = st.Resolve(ctx, word)
	if err != nil {
		return "", "", withNext(fmt.Errorf("%w", err), "clew plan list --all\nclew machine list\nclew log")
	}
	return kind, id, nil
}

// n is the n of "an".
func n(word string) string {
	if strings.ContainsRune("aeio", rune(word[0])) {
		return "n"
	}
	return ""
}
