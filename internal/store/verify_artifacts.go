package store

import (
	"fmt"
	"slices"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// artifacts compares what is kept of the configurations that a machine's plans bind: each has its row, also after its
// keeping time, and its author is among those whose approval of the plan is a self-approval. What the ciphertext holds is
// proved by whoever decrypts it, against the digest.
func (r *replay) artifacts(tx *Tx, scope ledger.Scope, rec *dispatch.Records) error {
	for _, p := range rec.Plans {
		if p.Kind != dispatch.KindApply {
			continue
		}
		authors, err := list(tx, scanText, `SELECT author FROM artifacts WHERE digest = $1`, p.Artifact)
		if err != nil {
			return err
		}
		problem := Problem{Scope: scope, Revision: p.Revision, Record: "artifacts " + p.Artifact}
		switch {
		case len(authors) == 0:
			problem.Text = fmt.Sprintf("plan %s binds it, and the row is missing", p.ID)
		case authors[0] != "" && !slices.Contains(p.Authors, authors[0]):
			problem.Text = fmt.Sprintf("its author is none of those that the entry of plan %s names", p.ID)
		default:
			continue
		}
		r.c.problem(problem)
	}
	return nil
}
