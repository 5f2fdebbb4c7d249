package store

import (
	"encoding/json"
	"fmt"

	"github.com/clewops/clew/internal/ledger"
)

// entryRows turns rows into entries. A row must hold exactly the text that is hashed: an entry is read back from its
// columns, so that text which only reads the same would slip through the hash.
type entryRows struct {
	actors map[string]ledger.Actor // by text; executors write most entries with few actors
}

// actorsKept bounds the cache of actors.
const actorsKept = 4096

// entryRow is an entry as its row has it.
type entryRow struct {
	ledger.Entry

	// proved says that the hash covers the columns' own text; Links are then not decoded, because nothing here asks for
	// them.
	proved bool

	// bad says why the row is none that the store wrote, "" when it may be one. The entry then only names its place.
	bad string
}

// batchSize is how many rows are handed over at a time.
const batchSize = 128

// batch is some rows in their order, and the error that ended the reading after them.
type batch struct {
	entries []entryRow
	err     error
}

// read reads rows and hashes them on a goroutine of its own, ahead of what judges them. The channel is closed once the
// rows are not touched any more: at their end, after an error, and after stop is closed.
func (r *entryRows) read(kind string, rows cursor, stop <-chan struct{}) <-chan batch {
	batches := make(chan batch, 2)
	go func() {
		defer close(batches)
		for more := true; more; {
			var b batch
			for len(b.entries) < batchSize && b.err == nil {
				if more = rows.Next(); !more {
					b.err = rows.Err()
					break
				}
				var e entryRow
				if e, b.err = r.next(kind, rows); b.err == nil {
					b.entries = append(b.entries, e)
				}
			}
			select {
			case batches <- b:
			case <-stop:
				return
			}
			more = more && b.err == nil
		}
	}()
	return batches
}

// next reads the row at the cursor. An error is a failure to read.
func (r *entryRows) next(kind string, rows cursor) (entryRow, error) {
	var e entryRow
	e.Scope.Kind = kind
	var at int64
	var actor, links, body, prev, hash string
	if err := rows.Scan(&e.Scope.ID, &e.Revision, &e.Kind, &at, &actor, &links, &body, &prev, &hash); err != nil {
		return misplacedRow(kind, rows, err)
	}
	e.At = fromMicros(at)
	if body != "" {
		e.Body = []byte(body)
	}
	if e.Prev, e.bad = exactHash(prev); e.bad == "" {
		e.Hash, e.bad = exactHash(hash)
	}
	if e.bad == "" {
		e.bad = r.actor(&e.Entry, actor)
	}
	if e.bad != "" {
		return e, nil
	}
	hashed := []byte(links)
	if links == "" {
		hashed = []byte("null")
	}
	if e.proved = e.SumOf([]byte(actor), hashed) == e.Hash; e.proved || links == "" {
		return e, nil
	}
	if why := canonical(links, &e.Links); why != "" { // the hash is over JSON that escapes for HTML, the column is not
		e.bad = "its links " + why
	}
	return e, nil
}

// exactHash reads a hash that is written as the store writes it: upper-case digits read the same, and are not.
func exactHash(text string) (ledger.Hash, string) {
	var h ledger.Hash
	if len(text) == 2*len(h) {
		for i := range h {
			high, low := hexDigit(text[2*i]), hexDigit(text[2*i+1])
			if high|low > 0xf {
				break
			}
			h[i] = high<<4 | low
			if i == len(h)-1 {
				return h, ""
			}
		}
	}
	return ledger.Hash{}, fmt.Sprintf("it holds no hash where one belongs: %.80q", text)
}

// hexDigit is the value of a lower-case hexadecimal digit, 0xff for anything else.
func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 0xff
}

func (r *entryRows) actor(e *ledger.Entry, text string) string {
	if a, ok := r.actors[text]; ok {
		e.Actor = a
		return ""
	}
	if why := canonical(text, &e.Actor); why != "" {
		return "its actor " + why
	}
	if len(r.actors) >= actorsKept {
		clear(r.actors)
	}
	r.actors[text] = e.Actor
	return ""
}

// canonical reads a record from its column and says what is wrong with the text, "" when it is what the store writes.
func canonical(text string, to any) string {
	if err := json.Unmarshal([]byte(text), to); err != nil {
		return fmt.Sprintf("cannot be read: %v", err)
	}
	b, err := compact(to)
	if err != nil || string(b) != text {
		return "is not as the store writes it"
	}
	return ""
}

// misplacedRow names a row whose columns hold values of other types: SQLite keeps what it is given.
func misplacedRow(kind string, rows cursor, cause error) (entryRow, error) {
	e := entryRow{bad: fmt.Sprintf("a column holds a value of another type: %v", cause)}
	e.Scope.Kind = kind
	values := make([]any, 9)
	into := make([]any, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return e, err
	}
	e.Scope.ID = text(values[0])
	if n, ok := values[1].(int64); ok {
		e.Revision = n
	}
	return e, nil
}
