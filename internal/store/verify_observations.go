package store

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clewops/clew/internal/dispatch"
)

// observationRow is an observation with its reading as the column holds it. Encoded, it is the record of its entry.
type observationRow struct {
	Machine     string           `json:"machine"`
	Basis       int64            `json:"basis"`
	Revision    int64            `json:"revision"`
	StartedAt   time.Time        `json:"started_at"`
	Purpose     dispatch.Purpose `json:"purpose"`
	Plan        string           `json:"plan,omitempty"`
	Operation   string           `json:"operation,omitempty"`
	Instance    string           `json:"instance"`
	Route       dispatch.Route   `json:"route"`
	LocalAddr   string           `json:"local_addr,omitempty"`
	RemoteAddr  string           `json:"remote_addr,omitempty"`
	ReadAddress string           `json:"read_address,omitempty"`
	Reading     json.RawMessage  `json:"reading"`

	failed string
	bad    bool // a column holds a value of another type
}

func scanObservationRow(scan func(...any) error) (observationRow, error) {
	var o observationRow
	var reading string
	var revision, started any
	// As text: the driver's strings then go into the row as they are.
	err := scan(&o.Machine, &o.Basis, &revision, &started, (*string)(&o.Purpose), &o.Plan, &o.Operation, &o.Instance, (*string)(&o.Route),
		&o.LocalAddr, &o.RemoteAddr, &o.ReadAddress, &reading, &o.failed)
	n, ok1 := revision.(int64)
	at, ok2 := started.(int64)
	o.Revision, o.StartedAt, o.bad = n, fromMicros(at), !ok1 || !ok2
	o.Reading = json.RawMessage(reading)
	return o, err
}

// observations compares a machine's readings, each by its digest. Reads that began and were not recorded have rows too.
func (r *replay) observations(tx *Tx, machine string, rec *dispatch.Records) error {
	rows, err := tx.query(selectObservationRows+` WHERE machine = $1`, machine)
	if err != nil {
		return err
	}
	defer rows.Close()
	report := func(basis int64, text string) {
		r.c.problem(Problem{
			Scope: machineScope(machine), Revision: basis, Record: fmt.Sprintf("observations %s %d", machine, basis), Text: text,
		})
	}
	for rows.Next() {
		o, err := scanObservationRow(rows.Scan)
		if err != nil {
			return tx.note(err)
		}
		if why := r.untold(o, rec); why != "" {
			report(o.Basis, why)
		}
	}
	if err := rows.Err(); err != nil {
		return tx.note(err)
	}
	missing := slices.Concat(slices.Collect(maps.Keys(rec.Observations)), slices.Collect(maps.Keys(rec.Started)),
		slices.Collect(maps.Keys(rec.Failed)))
	slices.Sort(missing)
	for _, basis := range missing {
		report(basis, missingRow)
	}
	return nil
}

// untold says why the row is not what the entries tell, "" when it is, and takes it off the records.
func (r *replay) untold(o observationRow, rec *dispatch.Records) string {
	digest, recorded := rec.Observations[o.Basis]
	started, waits := rec.Started[o.Basis]
	failed, fails := rec.Failed[o.Basis]
	delete(rec.Observations, o.Basis)
	delete(rec.Started, o.Basis)
	delete(rec.Failed, o.Basis)
	switch {
	case !recorded && !waits && !fails:
		return strayRow
	case recorded && r.is(o, digest), waits && o.began(started, ""), fails && o.began(failed.Observation, failed.Reason):
		return ""
	}
	return "the row is not what the entries say"
}

const selectObservationRows = `SELECT machine, basis, revision, started_at, purpose, plan, operation, instance, route, local_addr,
	remote_addr, read_address, reading, failed FROM observations`

// is says whether the row is the recorded observation with this digest.
func (r *replay) is(o observationRow, digest [sha256.Size]byte) bool {
	if o.bad || o.failed != "" || len(o.Reading) == 0 {
		return false
	}
	var plain bool
	if r.record, plain = o.appendPlain(r.record[:0]); plain {
		return sha256.Sum256(r.record) == digest
	}
	b, err := compact(o)
	return err == nil && sha256.Sum256(b) == digest && strings.HasSuffix(string(b), `"reading":`+string(o.Reading)+`}`)
}

// appendPlain appends what compact makes of the row, with the reading's text as the column holds it. It is false where
// a word needs an escape, or the time has no such form: those are for the encoder.
func (o observationRow) appendPlain(b []byte) ([]byte, bool) {
	for _, word := range []string{
		o.Machine, string(o.Purpose), o.Plan, o.Operation, o.Instance, string(o.Route), o.LocalAddr, o.RemoteAddr, o.ReadAddress,
	} {
		for i := range len(word) {
			if c := word[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
				return b, false
			}
		}
	}
	if y := o.StartedAt.Year(); y < 0 || y > 9999 {
		return b, false
	}
	b = append(append(b, `{"machine":"`...), o.Machine...)
	b = strconv.AppendInt(append(b, `","basis":`...), o.Basis, 10)
	b = strconv.AppendInt(append(b, `,"revision":`...), o.Revision, 10)
	b = o.StartedAt.AppendFormat(append(b, `,"started_at":"`...), time.RFC3339Nano)
	b = append(append(b, `","purpose":"`...), o.Purpose...)
	b = appendWord(b, `","plan":"`, o.Plan)
	b = appendWord(b, `","operation":"`, o.Operation)
	b = append(append(b, `","instance":"`...), o.Instance...)
	b = append(append(b, `","route":"`...), o.Route...)
	b = appendWord(b, `","local_addr":"`, o.LocalAddr)
	b = appendWord(b, `","remote_addr":"`, o.RemoteAddr)
	b = appendWord(b, `","read_address":"`, o.ReadAddress)
	b = append(append(b, `","reading":`...), o.Reading...)
	return append(b, '}'), true
}

// appendWord appends a member that is left out when it is empty.
func appendWord(b []byte, name, word string) []byte {
	if word == "" {
		return b
	}
	return append(append(b, name...), word...)
}

// began says whether the row is that of a read that began so and was not recorded.
func (o observationRow) began(started dispatch.Observation, failed string) bool {
	if o.bad || len(o.Reading) != 0 || o.Revision != 0 || o.failed != failed {
		return false
	}
	o.Revision = started.Revision
	o.Reading, _ = compact(started.Reading)
	a, err := compact(o)
	b, err2 := compact(started)
	return err == nil && err2 == nil && string(a) == string(b)
}
