package cli

import (
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
)

// actor is a person as the author of an entry.
func actor(w store.Who) ledger.Actor {
	return ledger.Actor{Identity: w.Identity, Role: w.Role, Assurance: w.Assurance}
}
