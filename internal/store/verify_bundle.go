package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// maxBundleLine bounds one line, and with it what a bundle can make the reader hold. A plan carries a redacted difference
// of whole configurations; nothing else comes near.
const maxBundleLine = 32 << 20

// VerifyBundle checks an exported bundle as Verify checks a store, but for what a bundle does not hold: the projected
// tables and this host's head file. A file that is no whole bundle is an error.
func VerifyBundle(r io.Reader, o VerifyOptions) (Report, error) {
	b := &bundleReader{c: newVerifier("bundle", o)}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1<<16), maxBundleLine)
	for lines.Scan() {
		b.line++
		if err := b.read(lines.Bytes()); err != nil {
			return Report{}, fmt.Errorf("line %d of the bundle: %w", b.line, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return Report{}, fmt.Errorf("line %d of the bundle is longer than %d MiB", b.line+1, maxBundleLine>>20)
	case err != nil:
		return Report{}, fmt.Errorf("read the bundle: %w", err)
	case b.line == 0:
		return Report{}, errors.New("the bundle is empty")
	case !b.ended:
		return Report{}, errors.New("the bundle is cut off: its end is missing")
	}
	b.c.end()
	return b.c.report, nil
}

// bundleReader reads a bundle line by line.
type bundleReader struct {
	c      *verifier
	line   int
	counts bundleEnd
	ended  bool
	kind   string // of the scopes whose entries are being read
}

func (b *bundleReader) read(text []byte) error {
	var l bundleLine
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("it is no line of a bundle: %w", err)
	}
	switch {
	case b.ended:
		return errors.New("it stands after the end")
	case (b.line == 1) != (l.Header != nil):
		return errors.New("a bundle begins with its header, and has no other")
	case l.Header != nil:
		b.c.report.At = l.Header.At
		return checkFormat(l.Header.Format, l.Header.Version, bundleFormat)
	case l.Head != nil:
		return b.head(*l.Head)
	case l.Entry != nil:
		return b.entry(*l.Entry)
	case l.End != nil:
		b.ended = true
		if *l.End != b.counts {
			return fmt.Errorf("the bundle holds %d heads and %d entries, its end counts %d and %d", b.counts.Heads, b.counts.Entries,
				l.End.Heads, l.End.Entries)
		}
		return nil
	}
	return errors.New("it says nothing that a bundle says")
}

func (b *bundleReader) head(h ledger.Head) error {
	if b.counts.Entries > 0 {
		return errors.New("a head stands among the entries")
	}
	b.counts.Heads++
	if b.c.heads[h.Scope] != nil {
		return fmt.Errorf("a second head of %.200s", h.Scope)
	}
	b.c.heads[h.Scope] = &claimedHead{scope: h.Scope, revision: h.Revision, hash: h.Hash.String()}
	return nil
}

func (b *bundleReader) entry(e ledger.Entry) error {
	b.counts.Entries++
	switch from, to := rank(b.kind), rank(e.Scope.Kind); {
	case b.counts.Entries > 1 && to < from:
		return fmt.Errorf("an entry of %.200s stands after those of kind %.40q", e.Scope, b.kind)
	}
	b.kind = e.Scope.Kind
	b.c.enter(e.Scope)
	return b.c.entry(e, false)
}

// rank is where a kind of scopes stands in the order of verification.
func rank(kind string) int {
	if i := slices.Index(dispatch.HistoryOrder, kind); i >= 0 {
		return i
	}
	return len(dispatch.HistoryOrder)
}
