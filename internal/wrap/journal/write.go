package journal

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Suffix of a journal's file name.
const Suffix = ".journal"

// File is the path of a session's journal in a directory.
func File(dir, session string) string { return filepath.Join(dir, Base(session)+Suffix) }

// Base is a session's name among files: its id may have any character.
func Base(session string) string {
	sum := sha256.Sum256([]byte(session))
	return hex.EncodeToString(sum[:10])
}

// Journal is a session's journal, open for one act.
type Journal struct {
	file  *os.File
	fresh bool // the file was made now: its name has to last, too
}

// Open opens a session's journal, and makes what is missing. The directory must belong to this user alone.
func Open(dir, session string) (*Journal, error) {
	path := File(dir, session)
	const flags = os.O_RDWR | os.O_APPEND | syscall.O_NOFOLLOW
	f, err := os.OpenFile(path, flags, 0)
	if err == nil {
		return &Journal{file: f}, private(dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := private(dir); err != nil {
		return nil, err
	}
	f, err = os.OpenFile(path, flags|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &Journal{file: f, fresh: true}, nil
}

// private says that nobody else can write into a directory: below a shared one somebody may have laid it out for us.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o022 != 0 || ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a directory of this user alone: remove it, or make it so with chmod 700", dir)
	}
	return nil
}

// NewKey makes the key of an act.
func NewKey() string {
	var b [10]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Hold takes the lock that shows that this process has the act in its hands, and keeps it until the process ends.
func (j *Journal) Hold(h Holder) Holder {
	var b [4]byte
	rand.Read(b[:])
	at := lockBase + int64(binary.LittleEndian.Uint32(b[:]))
	if hold(j.file, at) == nil {
		h.Lock = at
	}
	return h
}

// lockBase is far beyond the end of any journal.
const lockBase = 1 << 40

// Append writes a record. With sync it is on the disk when this returns.
func (j *Journal) Append(r Record, sync bool) error {
	line, err := encode(r)
	if err != nil {
		return err
	}
	for {
		n, err := j.file.Write(line)
		if errors.Is(err, syscall.EINTR) && n <= 0 {
			continue
		}
		if err != nil {
			return err
		}
		break
	}
	if !sync {
		return nil
	}
	if err := syncFile(j.file); err != nil {
		return err
	}
	if j.fresh {
		j.fresh = false
		return syncDir(filepath.Dir(j.file.Name()))
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Close lets the file and the lock go.
func (j *Journal) Close() error { return j.file.Close() }
