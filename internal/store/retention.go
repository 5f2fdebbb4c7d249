package store

import (
	"context"
	"fmt"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
)

// MinimumKeeping is the least keeping time. A configuration is kept before the plan that binds it is written: what was
// kept a moment ago must not be dropped in between.
const MinimumKeeping = 24 * time.Hour

// Retention says how long what may be dropped is kept. Entries are kept for ever: the ledger is the record, and a gap in
// it could not be told from an edit. The zero duration keeps for ever.
type Retention struct {
	Configurations time.Duration `json:"configurations"` // the ciphertext of configurations that nothing needs any more
	Jobs           time.Duration `json:"jobs"`           // finished deliveries
}

// RetentionBody is the body of the entry that tells what was dropped.
type RetentionBody struct {
	Retention Retention `json:"retention"`
	Dropped   []string  `json:"dropped,omitempty"` // digests of configurations whose ciphertext is gone
	Jobs      int64     `json:"jobs,omitempty"`    // how many finished jobs are gone
	Text      string    `json:"text,omitempty"`
}

// notNeeded are the configurations that no machine has selected or applied, and that no plan needs that could still be
// dispatched or whose operation is under way.
const notNeeded = ` ciphertext <> '' AND created_at < $1
	AND NOT EXISTS (SELECT 1 FROM machines m WHERE m.desired = artifacts.digest OR m.applied = artifacts.digest)
	AND NOT EXISTS (SELECT 1 FROM plans p WHERE (p.state IN ('proposed', 'approved')
		OR EXISTS (SELECT 1 FROM operations o WHERE o.plan = p.id AND o.ended_revision = 0)) AND replace(p.content, '"artifact":"' || artifacts.digest || '"', '') <> p.content)`

// Retain drops what is older than its keeping time and needed by nothing, and records what it dropped. Digests, plans,
// diffs and entries stay. dry only says what would be dropped. It takes a recovery-admin.
func (s *Store) Retain(ctx context.Context, who Who, keep Retention, dry bool, reason string) (RetentionBody, error) {
	out := RetentionBody{Retention: keep, Text: reason}
	for _, d := range []time.Duration{keep.Configurations, keep.Jobs} {
		if d != 0 && d < MinimumKeeping {
			return out, refusal.New("retention", "too-short", fmt.Sprintf("%s is shorter than the least keeping time, %s", d, MinimumKeeping), "")
		}
	}
	// The epoch is what the lock is for: nothing is dropped while recovery is entered, which may need it.
	err := s.update(ctx, locks{identities: shared, installation: shared}, "the end of keeping times", func(tx *Tx) error {
		actor, err := tx.acting(who, RoleRecoveryAdmin)
		if err != nil {
			return err
		}
		if out.Dropped, err = tx.dropConfigurations(keep.Configurations, dry); err != nil {
			return err
		}
		if out.Jobs, err = tx.dropJobs(keep.Jobs, dry); err != nil {
			return err
		}
		if dry || len(out.Dropped) == 0 && out.Jobs == 0 {
			return nil
		}
		_, err = tx.append(installationScope, dispatch.EntryRetention, actor, nil, out)
		return err
	})
	return out, err
}

func (tx *Tx) dropConfigurations(keep time.Duration, dry bool) ([]string, error) {
	if keep == 0 {
		return nil, nil
	}
	before := tx.Now().Add(-keep)
	if dry {
		return list(tx, scanText, `SELECT digest FROM artifacts WHERE`+notNeeded+` ORDER BY digest`, before)
	}
	return list(tx, scanText, `UPDATE artifacts SET ciphertext = '' WHERE`+notNeeded+` RETURNING digest`, before)
}

func (tx *Tx) dropJobs(keep time.Duration, dry bool) (int64, error) {
	if keep == 0 {
		return 0, nil
	}
	before := tx.Now().Add(-keep)
	if dry {
		var n int64
		err := tx.row(`SELECT COUNT(*) FROM outbox WHERE done_at > 0 AND done_at < $1`, before).Scan(&n)
		return n, err
	}
	return tx.exec(`DELETE FROM outbox WHERE done_at > 0 AND done_at < $1`, before)
}
