package store

import (
	"context"
	"time"

	"github.com/clewops/clew/internal/ledger"
)

// Job is work that an entry caused and that is done after its transaction, at least once: a delivery, for one. Key makes
// a repeat harmless at the receiver.
type Job struct {
	ID       string       `json:"id"`
	Scope    ledger.Scope `json:"scope"`
	Revision int64        `json:"revision"` // of the entry that caused it
	Kind     string       `json:"kind"`
	Payload  string       `json:"payload"` // JSON; its shape is the kind's
	Key      string       `json:"key"`
	DueAt    time.Time    `json:"due_at"`
	Tries    int          `json:"tries"` // this one included
}

// enqueue writes a job in the transaction of the entry that causes it. A key that was used before adds nothing.
func (tx *Tx) enqueue(cause ledger.Entry, kind, key string, payload any, due time.Time) error {
	id, err := tx.newID(jobPrefix, "outbox", "id")
	if err != nil {
		return err
	}
	_, err = tx.exec(`INSERT INTO outbox (id, scope_kind, scope_id, revision, kind, payload, idempotency_key, due_at, tries,
		done_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0) ON CONFLICT (idempotency_key) DO NOTHING`,
		id, cause.Scope.Kind, cause.Scope.ID, cause.Revision, kind, asJSON(payload), key, due)
	return err
}

// ClaimJobs takes up to limit due jobs of these kinds for as long as lease: whoever claims them does them, and says so
// with FinishJob or RetryJob. What is neither comes due again when the lease ends.
func (s *Store) ClaimJobs(ctx context.Context, kinds []string, limit int, lease time.Duration) ([]Job, error) {
	var out []Job
	err := s.update(ctx, locks{}, "the claim of jobs", func(tx *Tx) error {
		w := &where{}
		w.add("done_at = 0")
		w.add("due_at <= " + w.arg(tx.Now()))
		w.in("kind", kinds)
		query := `SELECT id, scope_kind, scope_id, revision, kind, payload, idempotency_key, due_at, tries FROM outbox` +
			w.text() + ` ORDER BY due_at, id LIMIT ` + w.arg(limit) + lockClause
		jobs, err := list(tx, func(scan func(...any) error) (Job, error) {
			var j Job
			err := scan(&j.ID, &j.Scope.Kind, &j.Scope.ID, &j.Revision, &j.Kind, &j.Payload, &j.Key, intoTime(&j.DueAt), &j.Tries)
			return j, err
		}, query, w.args...)
		if err != nil {
			return err
		}
		for i := range jobs {
			jobs[i].Tries++
			// due_at is asked again: on PostgreSQL another claim may have been waited for.
			n, err := tx.exec(`UPDATE outbox SET tries = $1, due_at = $2 WHERE id = $3 AND due_at = $4 AND done_at = 0`,
				jobs[i].Tries, tx.Now().Add(lease), jobs[i].ID, jobs[i].DueAt)
			if err != nil {
				return err
			}
			if n == 1 {
				out = append(out, jobs[i])
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// FinishJob records that a job is done.
func (s *Store) FinishJob(ctx context.Context, id string) error {
	return s.update(ctx, locks{}, "the end of job "+id, func(tx *Tx) error {
		_, err := tx.exec(`UPDATE outbox SET done_at = $1 WHERE id = $2 AND done_at = 0`, tx.Now(), id)
		return err
	})
}

// RetryJob puts a claimed job off.
func (s *Store) RetryJob(ctx context.Context, id string, after time.Duration) error {
	return s.update(ctx, locks{}, "the next try of job "+id, func(tx *Tx) error {
		_, err := tx.exec(`UPDATE outbox SET due_at = $1 WHERE id = $2 AND done_at = 0`, tx.Now().Add(after), id)
		return err
	})
}
