package store

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// replay compares the projected tables with what the entries say: of each record the last one. Machines' tables are
// compared machine by machine, the others at the end.
type replay struct {
	c          *verifier
	machines   map[string]bool
	identities map[string]IdentityBody
	tokens     map[string]string // hashes, which only the first entry of an identity has
	instances  map[string]Instance
	rollouts   map[string]dispatch.RolloutRow
	anchored   map[ledger.Scope]int64
	install    installationRow
	record     []byte // scratch: the record of the row that is compared
}

// installationRow is the installation as its chain tells it.
type installationRow struct {
	epoch, database string
	inRecovery      bool
	enteredRevision int64
	enteredAt       int64
	lastBefore      int64
	era             int64
}

func newReplay(c *verifier) *replay {
	return &replay{
		c: c, machines: map[string]bool{}, identities: map[string]IdentityBody{}, tokens: map[string]string{},
		instances: map[string]Instance{}, rollouts: map[string]dispatch.RolloutRow{}, anchored: map[ledger.Scope]int64{},
	}
}

// entry keeps what an entry outside machines' timelines says of a record. What cannot be read leaves the record as it
// was, and the comparison shows it.
func (r *replay) entry(e ledger.Entry) {
	switch e.Scope.Kind {
	case ledger.Identity:
		var b IdentityBody
		if json.Unmarshal(e.Body, &b) == nil {
			r.identities[e.Scope.ID] = b
			if e.Kind == dispatch.EntryIdentityCreated {
				r.tokens[e.Scope.ID] = b.TokenHash
			}
		}
	case ledger.Instance:
		var b instanceBody
		if json.Unmarshal(e.Body, &b) == nil {
			r.instances[e.Scope.ID] = b.Instance
		}
	case ledger.Rollout:
		var b dispatch.Body
		if json.Unmarshal(e.Body, &b) == nil && b.Rollout != nil {
			r.rollouts[e.Scope.ID] = *b.Rollout
		}
	case ledger.Installation:
		r.installation(e)
	}
}

func (r *replay) installation(e ledger.Entry) {
	if e.Kind == dispatch.EntryAnchored {
		return // see anchors
	}
	var b InstallationBody
	if json.Unmarshal(e.Body, &b) != nil {
		return
	}
	i := &r.install
	if b.Epoch != "" {
		i.epoch = b.Epoch
	}
	if b.Database != "" {
		i.database = b.Database
	}
	if b.Era != 0 {
		i.era = b.Era
	}
	switch e.Kind {
	case dispatch.EntryRecoveryEntered:
		i.inRecovery, i.enteredRevision, i.enteredAt, i.lastBefore = true, e.Revision, micros(e.At), micros(b.LastBefore)
	case dispatch.EntryRecoveryLeft:
		i.inRecovery = false
	}
}

// anchors keeps what an anchor entry says; who reads it hands it over.
func (r *replay) anchors(b AnchorBody) {
	for _, h := range b.Heads {
		r.anchored[h.Scope] = h.Revision
	}
}

const (
	strayRow   = "no entry tells of this row"
	missingRow = "the row is missing: the entries tell of it"
)

// machine compares the rows of one machine.
func (r *replay) machine(tx *Tx, id string, rec *dispatch.Records) error {
	r.machines[id] = true
	rows := machineRows(id, rec)
	scope := machineScope(id)
	for _, t := range []struct {
		projected
		where string
	}{
		{machinesTable, `id = $1`},
		{driftsTable, `machine = $1`},
		{plansTable, `machine = $1`},
		{approvalsTable, `plan IN (SELECT id FROM plans WHERE machine = $1)`},
		{operationsTable, `machine = $1`},
		{attemptsTable, `operation IN (SELECT id FROM operations WHERE machine = $1)`},
	} {
		if err := r.compare(tx, t.projected, scope, rows[t.name], ` WHERE `+t.where, id); err != nil {
			return err
		}
	}
	if err := r.artifacts(tx, scope, rec); err != nil {
		return err
	}
	return r.observations(tx, id, rec)
}

// compare says where a table's rows are not those that the entries tell.
func (r *replay) compare(tx *Tx, t projected, scope ledger.Scope, told [][]any, where string, args ...any) error {
	want := make(map[string][]any, len(told))
	for _, row := range told {
		bound, err := bind(row)
		if err != nil {
			return err
		}
		want[rowKey(t, bound)] = bound
	}
	columns := strings.Fields(strings.ReplaceAll(t.columns, ",", " "))
	got, err := list(tx, func(scan func(...any) error) ([]any, error) {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		return values, scan(into...)
	}, `SELECT `+t.columns+` FROM `+t.name+where, args...)
	if err != nil {
		return err
	}
	for _, row := range got {
		key := rowKey(t, row)
		told, ok := want[key]
		delete(want, key)
		if !ok {
			r.row(scope, t, key, strayRow)
			continue
		}
		for i, column := range columns {
			if !sameValue(row[i], told[i]) {
				r.row(scope, t, key, fmt.Sprintf("column %s is not what the entries say", column))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		r.row(scope, t, key, missingRow)
	}
	return nil
}

// row reports a row of a table. A table that is told by many scopes is reported under the scope that tells of the row.
func (r *replay) row(scope ledger.Scope, t projected, key, text string) {
	if scope.Kind == "" {
		switch t.name {
		case rolloutsTable.name:
			scope = rolloutScope(key)
		case identitiesTable.name:
			scope = identityScope(key)
		case instancesTable.name:
			scope = instanceScope(key)
		default:
			scope = installationScope
		}
	}
	if slices.Contains(r.c.report.Unjudged, scope) {
		return
	}
	r.c.problem(Problem{Scope: scope, Record: t.name + " " + key, Text: text})
}

func rowKey(t projected, row []any) string {
	parts := make([]string, t.keys)
	for i := range parts {
		parts[i] = text(row[i])
	}
	return strings.Join(parts, " ")
}

// text is a column's value as the drivers of both engines give it.
func text(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

// sameValue compares a column with what the entries tell. Columns of records may hold an empty one in two ways.
func sameValue(got, told any) bool {
	if n, ok := told.(int64); ok {
		return got == n
	}
	if _, number := got.(int64); number {
		return false
	}
	return text(got) == told || (emptyRecord(text(got)) && emptyRecord(text(told)))
}

func emptyRecord(s string) bool { return s == "" || s == "{}" || s == "[]" }

// rest compares the tables that are not a machine's, and finds rows of machines that no timeline tells of.
func (r *replay) rest(tx *Tx) error {
	var identities, instances, rollouts, anchored [][]any
	for name, b := range r.identities {
		identities = append(identities, identityRow(b, r.tokens[name]))
	}
	for _, i := range r.instances {
		instances = append(instances, instanceRow(i))
	}
	for _, row := range r.rollouts {
		rollouts = append(rollouts, rolloutColumns(row))
	}
	for s, revision := range r.anchored {
		anchored = append(anchored, []any{s.Kind, s.ID, revision})
	}
	i := r.install
	install := [][]any{{1, i.epoch, i.inRecovery, i.enteredRevision, i.enteredAt, i.lastBefore, i.database, i.era}}
	for _, t := range []struct {
		projected
		told [][]any
	}{
		{identitiesTable, identities},
		{instancesTable, instances},
		{rolloutsTable, rollouts},
		{anchoredTable, anchored},
		{installationTable, install},
	} {
		if err := r.compare(tx, t.projected, ledger.Scope{}, t.told, ""); err != nil {
			return err
		}
	}
	return r.strays(tx)
}

// strays finds rows that belong to no machine whose timeline was read.
func (r *replay) strays(tx *Tx) error {
	for _, q := range []struct{ table, query string }{
		{"machines", `SELECT id, id FROM machines`},
		{"drifts", `SELECT id, machine FROM drifts`},
		{"plans", `SELECT id, machine FROM plans`},
		{"operations", `SELECT id, machine FROM operations`},
		{"observations", `SELECT machine, machine FROM observations GROUP BY machine`},
		{"approvals", `SELECT id, '' FROM approvals WHERE plan NOT IN (SELECT id FROM plans)`},
		{"attempts", `SELECT operation, '' FROM attempts WHERE operation NOT IN (SELECT id FROM operations)`},
	} {
		strays, err := list(tx, func(scan func(...any) error) ([2]string, error) {
			var row [2]string
			err := scan(&row[0], &row[1])
			return row, err
		}, q.query)
		if err != nil {
			return err
		}
		for _, row := range strays {
			scope := machineScope(row[1])
			if r.machines[row[1]] || slices.Contains(r.c.report.Unjudged, scope) {
				continue
			}
			r.c.problem(Problem{Scope: scope, Record: q.table + " " + row[0], Text: strayRow})
		}
	}
	return nil
}
