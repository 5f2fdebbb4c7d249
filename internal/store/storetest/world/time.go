package world

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/clewops/clew/internal/dispatch"
)

// Pass lets time pass without waiting for it. On SQLite the store's clock moves. PostgreSQL's clock is its own, so there
// everything that was recorded becomes older by as much; the hash chain then no longer fits, and the history is not
// checked at the end.
func (w *World) Pass(d time.Duration) {
	w.T.Helper()
	if w.clock != nil {
		w.clock.mu.Lock()
		w.clock.ahead += d
		w.clock.mu.Unlock()
		return
	}
	w.Unchecked("the past was moved")
	db := w.database()
	defer db.Close()
	for _, q := range []string{
		`UPDATE entries SET at = at - $1`,
		`UPDATE scopes SET at = at - $1 WHERE at > 0`,
		`UPDATE observations SET started_at = started_at - $1`,
		`UPDATE attempts SET started_at = started_at - $1`,
		`UPDATE approvals SET at = at - $1`,
		`UPDATE operations SET verify_until = verify_until - $1 WHERE verify_until > 0`,
		`UPDATE plans SET expires_at = expires_at - $1`,
		`UPDATE installation SET entered_at = entered_at - $1, last_before = last_before - $1 WHERE entered_at > 0`,
	} {
		_, err := db.Exec(q, d.Microseconds())
		w.no(err)
	}
	w.agePlans(db, d)
}

// agePlans moves the times inside plans' content.
func (w *World) agePlans(db *sql.DB, d time.Duration) {
	w.T.Helper()
	rows, err := db.Query(`SELECT id, content FROM plans`)
	w.no(err)
	defer rows.Close()
	plans := map[string]dispatch.Plan{}
	for rows.Next() {
		var id, content string
		w.no(rows.Scan(&id, &content))
		var p dispatch.Plan
		w.no(json.Unmarshal([]byte(content), &p))
		p.ExpiresAt, p.CreatedAt = p.ExpiresAt.Add(-d), p.CreatedAt.Add(-d)
		plans[id] = p
	}
	w.no(rows.Err())
	for id, p := range plans {
		content, err := json.Marshal(p)
		w.no(err)
		_, err = db.ExecContext(context.Background(), `UPDATE plans SET content = $1 WHERE id = $2`, string(content), id)
		w.no(err)
	}
}
