package store

import (
	"errors"
	"io"
	"os"

	"github.com/clewops/clew/internal/ledger"
)

// note remembers heads that are to reach the file with the next flush.
func (h *headFile) note(heads ...ledger.Head) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pending == nil {
		h.pending = map[ledger.Scope]ledger.Head{}
	}
	for _, head := range heads {
		if old, ok := h.pending[head.Scope]; !ok || old.Revision < head.Revision {
			h.pending[head.Scope] = head
		}
	}
}

// flush writes what is pending and returns when it is lasting. A head that another process already moved further stays.
// What could not be written stays pending.
func (h *headFile) flush() error {
	mine, err := h.write()
	if err != nil {
		return err
	}
	return h.sync(mine)
}

// write puts the pending heads into the file, and says how many flushes wrote so far.
func (h *headFile) write() (int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.pending) == 0 {
		return h.written, nil
	}
	if err := h.lock(); err != nil {
		return 0, err
	}
	defer h.unlock()
	if err := h.index(); err != nil {
		return 0, err
	}
	for _, head := range h.pending {
		if err := h.move(head); err != nil {
			return 0, err
		}
	}
	clear(h.pending)
	h.written++
	return h.written, nil
}

// sync returns when everything that was written up to the flush is lasting.
func (h *headFile) sync(flush int64) error {
	h.syncing.Lock()
	defer h.syncing.Unlock()
	for h.synced < flush && h.broken == nil {
		h.mu.Lock()
		f, upTo := h.f, h.written
		h.mu.Unlock()
		if f != nil {
			if err := f.Sync(); errors.Is(err, os.ErrClosed) {
				continue // the file was replaced by a new one meanwhile
			} else if err != nil {
				h.broken = err
				break
			}
		}
		h.synced = upTo
	}
	return h.broken
}

// seen gives what the file says of the scopes, of those that it knows, and the epoch it holds.
func (h *headFile) seen(scopes ...ledger.Scope) (epoch string, heads []ledger.Head, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.lock(); err != nil {
		return "", nil, err
	}
	defer h.unlock()
	if err := h.index(); err != nil {
		return "", nil, err
	}
	first, err := h.line(0)
	if err != nil {
		return "", nil, err
	}
	state, err := parseHeads(first)
	if err != nil {
		return "", nil, err
	}
	for _, s := range scopes {
		at, ok := h.lines[s]
		if !ok {
			continue
		}
		head, err := h.headAt(at)
		if err != nil {
			return "", nil, err
		}
		heads = append(heads, head)
	}
	return state.Epoch, heads, nil
}

// index finds the lines that were added since the last time. The caller holds the locks.
func (h *headFile) index() error {
	info, err := h.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < headLine || info.Size()%headLine != 0 {
		return errHeadDamaged
	}
	for at := max(h.read, headLine); at < info.Size(); at += headLine {
		head, err := h.headAt(at)
		if err != nil {
			return err
		}
		h.lines[head.Scope] = at
	}
	h.read = info.Size()
	return nil
}

func (h *headFile) line(at int64) ([]byte, error) {
	b := make([]byte, headLine)
	if _, err := h.f.ReadAt(b, at); err != nil {
		if err == io.EOF {
			err = errHeadDamaged
		}
		return nil, err
	}
	return b, nil
}

func (h *headFile) headAt(at int64) (ledger.Head, error) {
	b, err := h.line(at)
	if err != nil {
		return ledger.Head{}, err
	}
	text, err := decodeLine(b)
	if err != nil {
		return ledger.Head{}, err
	}
	return decodeHead(text)
}

// move writes one head over its line, or as a new last line, unless the file is further already.
func (h *headFile) move(head ledger.Head) error {
	at, known := h.lines[head.Scope]
	if known {
		old, err := h.headAt(at)
		if err != nil || old.Revision >= head.Revision {
			return err
		}
	} else {
		at = h.read
	}
	line, err := encodeHead(head)
	if err != nil {
		return err
	}
	if _, err := h.f.WriteAt(line, at); err != nil {
		return err
	}
	if !known {
		h.lines[head.Scope] = at
		h.read = at + headLine
	}
	return nil
}
