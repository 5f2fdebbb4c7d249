package sim

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// reader reads the entries of a store as they come, past the store's own code.
type reader struct {
	after *sql.Stmt
	last  int64 // how far it has read
}

// prepareReader prepares what readers of the place ask.
func (p *Place) prepareReader() (err error) {
	at, param := p.order(), "$1"
	if p.location.Engine == config.SQLite {
		param = "?1"
	}
	p.after, err = p.db.Prepare(fmt.Sprintf(`SELECT %s, scope_kind, scope_id, revision, kind, at, actor, body FROM entries
		WHERE %s > %s ORDER BY %s`, at, at, param, at))
	return err
}

// next are the entries that were committed since the last call. What one step wrote is put into the order that a
// Follower wants: machines' entries rest on those of other scopes.
func (r *reader) next() ([]ledger.Entry, error) {
	rows, err := r.after.Query(r.last)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []ledger.Entry
	for rows.Next() {
		var e ledger.Entry
		var at int64
		var actor, body string
		if err := rows.Scan(&r.last, &e.Scope.Kind, &e.Scope.ID, &e.Revision, &e.Kind, &at, &actor, &body); err != nil {
			return nil, err
		}
		e.At = time.UnixMicro(at).UTC()
		if err := json.Unmarshal([]byte(actor), &e.Actor); err != nil {
			return nil, err
		}
		if body != "" {
			e.Body = json.RawMessage(body)
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b ledger.Entry) int { return rank(a) - rank(b) })
	return out, rows.Err()
}

func rank(e ledger.Entry) int { return slices.Index(dispatch.HistoryOrder, e.Scope.Kind) }
