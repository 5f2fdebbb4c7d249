package store

import (
	"slices"
	"strings"
)

// ReverseLocks lets a store take the locks of the transactions that begin with these words in the reverse of the one order.
func ReverseLocks(s *Store, transaction string) {
	s.take = func(tx *Tx, what string, l locks) error {
		if !strings.HasPrefix(what, transaction) {
			return tx.take(l)
		}
		slices.Reverse(l.machines)
		for _, last := range []locks{
			{others: l.others},
			{rollout: l.rollout},
			{identities: l.identities, installation: l.installation},
			{approval: l.approval},
			{plan: l.plan},
			{machines: l.machines},
		} {
			if err := tx.take(last); err != nil {
				return err
			}
		}
		return nil
	}
}
