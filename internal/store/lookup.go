package store

import (
	"context"
	"fmt"
	"strings"
)

// Candidate is a record that a short name may mean.
type Candidate struct {
	Kind string `json:"kind"` // machine, plan, operation, approval, drift, instance, rollout, identity, artifact
	ID   string `json:"id"`
}

// Ambiguous says that a short name means several records.
type Ambiguous struct {
	Prefix     string
	Candidates []Candidate // the first few
}

// Error lists the candidates.
func (e *Ambiguous) Error() string {
	names := make([]string, len(e.Candidates))
	for i, c := range e.Candidates {
		names[i] = c.ID + " (" + c.Kind + ")"
	}
	return fmt.Sprintf("%q can mean %s: type more of it", e.Prefix, strings.Join(names, ", "))
}

// maxCandidates bounds what an ambiguous name lists, of each kind.
const maxCandidates = 5

var resolvable = []struct{ kind, table, column, id string }{
	{"machine", "machines", "id", "id"},
	{"machine", "machines", "name", "id"},
	{"plan", "plans", "id", "id"},
	{"operation", "operations", "id", "id"},
	{"approval", "approvals", "id", "id"},
	{"drift", "drifts", "id", "id"},
	{"instance", "instances", "id", "id"},
	{"rollout", "rollouts", "id", "id"},
	{"identity", "identities", "name", "name"},
	{"artifact", "artifacts", "digest", "digest"},
}

// Resolve finds the one record that a name, an id or the unique beginning of one means. What is meant exactly wins over
// what only begins so. No record is ErrNotFound, several are *Ambiguous.
func (s *Store) Resolve(ctx context.Context, text string) (kind, id string, err error) {
	if text == "" {
		return "", "", unknownRecord("record", text)
	}
	var exact, begins []Candidate
	err = s.view(ctx, func(tx *Tx) error {
		for _, r := range resolvable {
			type row struct {
				id    string
				whole bool
			}
			rows, err := list(tx, func(scan func(...any) error) (row, error) {
				var got row
				err := scan(&got.id, intoBool(&got.whole))
				return got, err
			}, fmt.Sprintf(`SELECT %s, CASE WHEN %s = $1 THEN 1 ELSE 0 END AS whole FROM %s WHERE substr(%s, 1, length($1)) = $1
				ORDER BY whole DESC, %s LIMIT %d`, r.id, r.column, r.table, r.column, r.column, maxCandidates), text)
			if err != nil {
				return err
			}
			for _, got := range rows {
				c := Candidate{Kind: r.kind, ID: got.id}
				if got.whole {
					exact = append(exact, c)
				} else {
					begins = append(begins, c)
				}
			}
		}
		return nil
	})
	if err != nil {
		return "", "", err
	}
	return choose(text, exact, begins)
}

func choose(text string, exact, begins []Candidate) (kind, id string, err error) {
	all := exact
	if len(all) == 0 {
		all = begins
	}
	for _, c := range all {
		if c != all[0] {
			return "", "", &Ambiguous{Prefix: text, Candidates: all}
		}
	}
	if len(all) == 0 {
		return "", "", unknownRecord("record", text)
	}
	return all[0].Kind, all[0].ID, nil
}
