package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/ledger"
)

// headFile remembers, outside the database, how far this host saw the store's timelines: a database that shows less was
// restored. It holds lines of one fixed length, so that a head moves by one small write in place:
//
//	clew-head EPOCH DATABASE-IDENTITY...          CRC
//	KIND/ID REVISION HASH                          CRC
//
// Processes take turns by a file lock, and a head only ever moves up. A new epoch replaces the whole file by a rename;
// whoever still has the old one open notices after locking it.
type headFile struct {
	path string

	mu      sync.Mutex
	f       *os.File
	lines   map[ledger.Scope]int64 // offset of each scope's line
	read    int64                  // how much of the file lines covers
	pending map[ledger.Scope]ledger.Head
	written int64 // counts the flushes that wrote

	// Syncing takes long and holds up nobody who only looks or writes: one sync serves every flush that wrote before it.
	syncing sync.Mutex
	synced  int64 // the flush up to which the file is lasting
	broken  error // a sync failed: what the disk holds since is not known, and a later success would not tell
}

// headState is what the file says.
type headState struct {
	Epoch    string
	Database string
	Heads    map[ledger.Scope]ledger.Head
}

const (
	headLine  = 192
	headMagic = "clew-head"
)

// errHeadDamaged says that the file cannot be believed; it does not happen by a crash, since lines are written whole.
var errHeadDamaged = errors.New("the head file is damaged")

// headName tells the stores of one state directory apart, without their passwords.
func headName(u config.DatabaseURL) string {
	sum := sha256.Sum256([]byte(u.String()))
	return hex.EncodeToString(sum[:8]) + ".head"
}

func encodeLine(text string) ([]byte, error) {
	const room = headLine - 10
	if len(text) > room {
		return nil, fmt.Errorf("store: a line of the head file would be too long: %s", text)
	}
	padded := text + strings.Repeat(" ", room-len(text))
	return fmt.Appendf(nil, "%s %08x\n", padded, crc32.ChecksumIEEE([]byte(padded))), nil
}

func decodeLine(line []byte) (string, error) {
	if len(line) != headLine {
		return "", errHeadDamaged
	}
	padded := line[:headLine-10]
	if string(line[headLine-10:]) != fmt.Sprintf(" %08x\n", crc32.ChecksumIEEE(padded)) {
		return "", errHeadDamaged
	}
	return string(bytes.TrimRight(padded, " ")), nil
}

func encodeHead(h ledger.Head) ([]byte, error) {
	return encodeLine(headText(h))
}

func headText(h ledger.Head) string { return fmt.Sprintf("%s %d %s", h.Scope, h.Revision, h.Hash) }

func decodeHead(text string) (ledger.Head, error) {
	var h ledger.Head
	var scope, hash string
	if _, err := fmt.Sscanf(text, "%s %d %s", &scope, &h.Revision, &hash); err != nil {
		return h, errHeadDamaged
	}
	h.Scope.Kind, h.Scope.ID, _ = strings.Cut(scope, "/")
	var err error
	if h.Hash, err = ledger.ParseHash(hash); err != nil {
		return h, errHeadDamaged
	}
	if h.Revision < 0 || headText(h) != text { // what is not exactly as it is written was not written here
		return h, errHeadDamaged
	}
	return h, nil
}

// lock opens the file that the path names now and locks it against other processes. The caller holds h.mu. A file that
// does not exist is fs.ErrNotExist.
func (h *headFile) lock() error {
	for {
		if h.f == nil {
			f, err := os.OpenFile(h.path, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			h.f, h.lines, h.read = f, map[ledger.Scope]int64{}, 0
		}
		if err := flock(h.f, syscall.LOCK_EX); err != nil {
			return err
		}
		same, err := h.isCurrent()
		if err == nil && same {
			return nil
		}
		_ = h.f.Close() // unlocks
		h.f = nil
		if err != nil {
			return err
		}
	}
}

// isCurrent says whether the open file is still the one that the path names.
func (h *headFile) isCurrent() (bool, error) {
	open, err := h.f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(h.path)
	if err != nil {
		return false, err
	}
	return os.SameFile(open, named), nil
}

func (h *headFile) unlock() { _ = flock(h.f, syscall.LOCK_UN) }

// load reads everything. A file that does not exist is fs.ErrNotExist.
func (h *headFile) load() (headState, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.lock(); err != nil {
		return headState{}, err
	}
	defer h.unlock()
	b, err := os.ReadFile(h.path)
	if err != nil {
		return headState{}, err
	}
	return parseHeads(b)
}

func parseHeads(b []byte) (headState, error) {
	s := headState{Heads: map[ledger.Scope]ledger.Head{}}
	for i := 0; i < len(b); i += headLine {
		text, err := decodeLine(b[i:min(i+headLine, len(b))])
		if err != nil {
			return s, err
		}
		if i == 0 {
			magic, rest, _ := strings.Cut(text, " ")
			if magic != headMagic {
				return s, errHeadDamaged
			}
			s.Epoch, s.Database, _ = strings.Cut(rest, " ")
			continue
		}
		head, err := decodeHead(text)
		if err != nil {
			return s, err
		}
		s.Heads[head.Scope] = head
	}
	if s.Epoch == "" {
		return s, errHeadDamaged
	}
	return s, nil
}

// replace writes the whole file anew.
func (h *headFile) replace(s headState) error {
	text, err := encodeLine(headMagic + " " + s.Epoch + " " + s.Database)
	if err != nil {
		return err
	}
	for _, head := range s.Heads {
		line, err := encodeHead(head)
		if err != nil {
			return err
		}
		text = append(text, line...)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	if h.f != nil {
		if err := h.lock(); err == nil { // lets a writer of the old file finish
			defer func(f *os.File) { _ = f.Close() }(h.f)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		h.f = nil
	}
	h.pending = nil
	h.written++ // whoever waits for a sync of the old file finds the new one, which is lasting
	return writeAtomically(h.path, text)
}

// close lets go of the file.
func (h *headFile) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.f == nil {
		return nil
	}
	err := h.f.Close()
	h.f = nil
	return err
}

// writeAtomically makes a file appear whole or not at all, and lasting: written aside, synced, renamed, its directory
// synced.
func writeAtomically(path string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // gone after the rename
	if _, err := tmp.Write(content); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := tmp.Sync(); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
