package bench

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
)

// past writes a machine park's past into a store: rounds in which every machine is read, as observers do, each followed
// by an anchor of all of them. What it writes is what the store would have written, only many rows at a time; verifying
// it shows that.
type past struct {
	*desk
	db           *plain
	heads        map[ledger.Scope]*ledger.Head
	at           time.Time
	epoch        string
	entries      [][]any
	observations [][]any
	written      int
}

var (
	entryColumns       = []string{"scope_kind", "scope_id", "revision", "kind", "at", "actor", "links", "body", "prev", "hash"}
	observationColumns = []string{
		"machine", "basis", "revision", "started_at", "purpose", "plan", "operation", "instance", "route", "local_addr", "remote_addr",
		"read_address", "reading", "failed",
	}
)

// fill adds entries until the store holds about so many.
func (d *desk) fill(entries int) {
	d.t.Helper()
	p := &past{desk: d, db: openPlain(d.t, d.w.Place), heads: map[ledger.Scope]*ledger.Head{}, at: d.w.Now(), epoch: d.proc.Owner().Epoch}
	heads, err := d.w.Store.Heads(ctx)
	no(d.t, err)
	for _, h := range heads {
		p.heads[h.Scope] = &h
		p.written += int(h.Revision)
	}
	const flushAt = 20000
	for p.written < entries {
		p.round()
		if len(p.entries) >= flushAt {
			p.flush()
		}
	}
	p.flush()
	p.finish()
}

// round reads every machine and anchors what that moved.
func (p *past) round() {
	p.at = p.at.Add(time.Microsecond)
	var anchor store.AnchorBody
	for _, m := range p.machines {
		scope := ledger.Scope{Kind: ledger.Machine, ID: m.ID}
		o := dispatch.Observation{
			Machine: m.ID, Basis: p.heads[scope].Revision + 1, StartedAt: p.at, Purpose: dispatch.ForDrift, Instance: p.proc.ID,
			Route: dispatch.Direct, ReadAddress: "10.5.0.2", LocalAddr: "10.5.0.1:40000", RemoteAddr: "10.5.0.2:50000",
		}
		actor := ledger.Actor{Instance: p.proc.ID}
		p.append(scope, dispatch.EntryReadStarted, actor, nil, dispatch.Body{Observation: &o})
		o.Revision, o.Reading = o.Basis+1, m.Node
		links := []ledger.Link{{Rel: "started", Scope: scope, Revision: o.Basis}}
		p.append(scope, dispatch.EntryRead, actor, links, dispatch.Body{Observation: &o})
		p.observations = append(p.observations, []any{
			o.Machine, o.Basis, o.Revision, o.StartedAt.UnixMicro(), string(o.Purpose), "", "", o.Instance, string(o.Route), o.LocalAddr,
			o.RemoteAddr, o.ReadAddress, p.text(o.Reading), "",
		})
		anchor.Heads = append(anchor.Heads, *p.heads[scope])
	}
	p.append(ledger.Scope{Kind: ledger.Installation}, dispatch.EntryAnchored, ledger.Actor{Epoch: p.epoch}, nil, anchor)
}

func (p *past) append(s ledger.Scope, kind string, actor ledger.Actor, links []ledger.Link, body any) {
	h := p.heads[s]
	e := ledger.Entry{
		Scope: s, Revision: h.Revision + 1, Kind: kind, At: p.at, Actor: actor, Links: links, Body: json.RawMessage(p.text(body)), Prev: h.Hash,
	}
	var err error
	e.Hash, err = e.Sum()
	no(p.t, err)
	var l string
	if links != nil {
		l = p.text(links)
	}
	p.entries = append(p.entries, []any{
		s.Kind, s.ID, e.Revision, kind, p.at.UnixMicro(), p.text(actor), l, string(e.Body), e.Prev.String(), e.Hash.String(),
	})
	h.Revision, h.Hash = e.Revision, e.Hash
	p.written++
}

// text is compact JSON as columns hold it.
func (p *past) text(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	no(p.t, e.Encode(v))
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func (p *past) flush() {
	p.t.Helper()
	p.insert("entries", entryColumns, p.entries)
	p.insert("observations", observationColumns, p.observations)
	p.entries, p.observations = p.entries[:0], p.observations[:0]
}

func (p *past) insert(name string, columns []string, rows [][]any) {
	p.t.Helper()
	if p.db.engine == config.Postgres {
		no(p.t, p.db.conn.Raw(func(c any) error {
			_, err := c.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{name}, columns, pgx.CopyFromRows(rows))
			return err
		}))
		return
	}
	p.db.exec("BEGIN IMMEDIATE")
	for _, row := range rows {
		c := writing(table{name: name}, columns, nil, row)
		p.db.exec(c.query, c.args...)
	}
	p.db.exec("COMMIT")
}

// finish moves the heads and what is anchored to where the entries end.
func (p *past) finish() {
	p.t.Helper()
	p.db.exec("BEGIN")
	for s, h := range p.heads {
		p.db.exec(`UPDATE scopes SET revision = $1, hash = $2, at = CASE WHEN revision = $3 THEN at ELSE $4 END WHERE kind = $5 AND id = $6`,
			h.Revision, h.Hash.String(), h.Revision, p.at.UnixMicro(), s.Kind, s.ID)
	}
	for _, m := range p.machines {
		p.db.exec(`INSERT INTO anchored (kind, id, revision) VALUES ('machine', $1, $2)
			ON CONFLICT (kind, id) DO UPDATE SET revision = excluded.revision`, m.ID,
			p.heads[ledger.Scope{Kind: ledger.Machine, ID: m.ID}].Revision)
	}
	p.db.exec("COMMIT")
	p.db.exec("ANALYZE")
}
