package store

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/clewops/clew/internal/ledger"
)

// A bundle is a store's ledger in one file, to be verified without the store: JSON lines, of which the first says what
// the file is, then the heads of all scopes, then all entries, scope by scope in the order of verification, then an end
// that counts them. Projected tables, artifacts and the outbox are not in it.
const (
	bundleFormat     = "clew bundle"
	checkpointFormat = "clew checkpoint"
	formatVersion    = 1
)

// bundleLine is one line. Exactly one of its fields is set.
type bundleLine struct {
	Header *bundleHeader `json:"header,omitempty"`
	Head   *ledger.Head  `json:"head,omitempty"`
	Entry  *ledger.Entry `json:"entry,omitempty"`
	End    *bundleEnd    `json:"end,omitempty"`
}

type bundleHeader struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Engine  string    `json:"engine"`
	At      time.Time `json:"at"`
}

type bundleEnd struct {
	Heads   int64 `json:"heads"`
	Entries int64 `json:"entries"`
}

// Checkpoint is where every timeline ended at a time, kept outside the store: what shows that a history was rewritten.
type Checkpoint struct {
	Format  string        `json:"format"`
	Version int           `json:"version"`
	At      time.Time     `json:"at"`
	Heads   []ledger.Head `json:"heads"`
}

// Checkpoint reads the heads of all scopes in one snapshot.
func (s *Store) Checkpoint(ctx context.Context) (Checkpoint, error) {
	c := Checkpoint{Format: checkpointFormat, Version: formatVersion}
	err := s.view(ctx, func(tx *Tx) (err error) {
		c.At = tx.Now()
		c.Heads, err = tx.allHeads()
		return err
	})
	return c, err
}

func (tx *Tx) allHeads() ([]ledger.Head, error) {
	return list(tx, scanHead, `SELECT kind, id, revision, hash FROM scopes WHERE revision > 0 ORDER BY kind, id`)
}

// Write writes the checkpoint as indented JSON.
func (c Checkpoint) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

// maxCheckpoint bounds a checkpoint file: about 150 bytes a scope.
const maxCheckpoint = 256 << 20

// ReadCheckpoint reads what Write wrote.
func ReadCheckpoint(r io.Reader) (Checkpoint, error) {
	var c Checkpoint
	b, err := io.ReadAll(io.LimitReader(r, maxCheckpoint+1))
	switch {
	case err != nil:
		return c, fmt.Errorf("read the checkpoint: %w", err)
	case len(b) > maxCheckpoint:
		return c, fmt.Errorf("read the checkpoint: it is larger than %d MiB", maxCheckpoint>>20)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("this is no checkpoint: %w", err)
	}
	return c, checkFormat(c.Format, c.Version, checkpointFormat)
}

func checkFormat(format string, version int, want string) error {
	switch {
	case format != want:
		return fmt.Errorf("this is no %s: it calls itself %.40q", want, format)
	case version != formatVersion:
		return fmt.Errorf("this is a %s of version %d; this program knows version %d", want, version, formatVersion)
	}
	return nil
}

// Export writes the ledger as a bundle, as one snapshot shows it.
func (s *Store) Export(ctx context.Context, w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false) // bodies are hashed as they are
	err := s.view(ctx, func(tx *Tx) error { return tx.export(e, s.Engine()) })
	if err != nil {
		return err
	}
	return out.Flush()
}

func (tx *Tx) export(e *json.Encoder, engine string) error {
	header := bundleHeader{Format: bundleFormat, Version: formatVersion, Engine: engine, At: tx.Now()}
	if err := e.Encode(bundleLine{Header: &header}); err != nil {
		return err
	}
	heads, err := tx.allHeads()
	if err != nil {
		return err
	}
	for _, h := range heads {
		if err := e.Encode(bundleLine{Head: &h}); err != nil {
			return err
		}
	}
	kinds, err := tx.scopeKinds()
	if err != nil {
		return err
	}
	end := bundleEnd{Heads: int64(len(heads))}
	for _, kind := range kinds {
		n, err := tx.exportKind(e, kind)
		if err != nil {
			return err
		}
		end.Entries += n
	}
	return e.Encode(bundleLine{End: &end})
}

func (tx *Tx) exportKind(e *json.Encoder, kind string) (int64, error) {
	rows, err := tx.query(selectEntry+` WHERE scope_kind = $1 ORDER BY scope_id, revision`, kind)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var n int64
	for rows.Next() {
		entry, err := scanEntry(rows.Scan)
		if err != nil {
			return n, tx.note(err)
		}
		if err := e.Encode(bundleLine{Entry: &entry}); err != nil {
			return n, err
		}
		n++
	}
	return n, tx.note(rows.Err())
}
