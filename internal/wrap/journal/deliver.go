package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrBusy says that another process delivers this journal now. There is nothing left to do.
var ErrBusy = errors.New("another process delivers this journal")

// List lists the journals in some directories; one that is not there has none.
func List(dirs ...string) ([]string, error) {
	var files []string
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return files, err
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), Suffix) && e.Type().IsRegular() {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	return files, nil
}

// cursor is what was delivered of a journal.
type cursor struct {
	Offset  int64  `json:"offset"`
	Open    []held `json:"open,omitempty"` // acts that began and did not end
	Damaged int    `json:"damaged,omitempty"`
	path    string // of the cursor's file
	take    func(Record) error
	file    *os.File
	taken   int
}

type held struct {
	Key    string `json:"key"`
	Holder Holder `json:"holder"`
}

// Delivered says what one delivery did.
type Delivered struct {
	Taken   int
	Running int // acts that have not ended
	Damaged int // lines that could not be read, ever
}

// Deliver hands the records that were not delivered yet to take, in their order, until one is refused with an error. The
// next delivery begins with that one. A torn last line waits for its rest, or for the record that shows that there is
// none. Several processes may call this: one delivers, the others are told ErrBusy.
func Deliver(file string, now time.Time, boot string, take func(Record) error) (Delivered, error) {
	lock, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return Delivered{}, err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return Delivered{}, ErrBusy
		}
		return Delivered{}, err
	}
	c, err := openCursor(file, take)
	if err != nil {
		return Delivered{}, err
	}
	defer c.file.Close()
	err = c.deliver(now, boot)
	return Delivered{Taken: c.taken, Running: len(c.Open), Damaged: c.Damaged}, err
}

func openCursor(file string, take func(Record) error) (*cursor, error) {
	c := &cursor{path: file + ".cursor", take: take}
	b, err := os.ReadFile(c.path)
	if err == nil {
		err = json.Unmarshal(b, c)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s cannot be read (%w): remove it to deliver the whole journal again; what the ledger has is known there by its key", c.path, err)
	}
	c.file, err = os.Open(file)
	return c, err
}

// deliver reads to the end, and then gives up the acts whose wrapper is no more. That is asked before the reading: what
// such a wrapper wrote is read.
func (c *cursor) deliver(now time.Time, boot string) error {
	for {
		known := len(c.Open)
		var dead []string
		for _, h := range c.Open {
			if !alive(c.file, h.Holder, boot) {
				dead = append(dead, h.Key)
			}
		}
		before := c.Offset
		if err := c.read(); err != nil {
			return err
		}
		for _, key := range dead {
			if !slices.ContainsFunc(c.Open, func(h held) bool { return h.Key == key }) {
				continue
			}
			if err := c.give(Record{Kind: Lost, Key: key, At: now}, c.Offset); err != nil {
				return err
			}
		}
		if c.Offset == before && len(c.Open) <= known {
			return nil
		}
	}
}

// read hands on what lies between the cursor and the last line end.
func (c *cursor) read() error {
	size, err := c.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if size < c.Offset {
		return fmt.Errorf("%s is shorter than what was delivered of it: it was cut or replaced", c.file.Name())
	}
	for c.Offset < size {
		b := make([]byte, min(size-c.Offset, longest))
		if _, err := c.file.ReadAt(b, c.Offset); err != nil {
			return err
		}
		last := bytes.LastIndexByte(b, '\n')
		if last < 0 {
			if len(b) < longest {
				return nil
			}
			c.Offset += int64(len(b)) // no record is so long
			continue
		}
		if err := c.lines(b[:last+1]); err != nil {
			return err
		}
	}
	return nil
}

func (c *cursor) lines(b []byte) error {
	for line := range bytes.Lines(b) {
		next := c.Offset + int64(len(line))
		line = bytes.TrimSuffix(line, []byte("\n"))
		if len(line) == 0 {
			c.Offset = next
			continue
		}
		r, err := decode(line)
		if err != nil {
			c.Damaged++
			c.Offset = next
			continue
		}
		if err := c.give(r, next); err != nil {
			return err
		}
	}
	return c.save()
}

// give hands on one record, and then moves the cursor.
func (c *cursor) give(r Record, next int64) error {
	if err := c.take(r); err != nil {
		return errors.Join(err, c.save())
	}
	c.taken++
	c.Offset = next
	switch r.Kind {
	case Begin:
		h := held{Key: r.Key}
		if r.Holder != nil {
			h.Holder = *r.Holder
		}
		c.Open = append(c.Open, h)
	case End, Lost:
		c.Open = slices.DeleteFunc(c.Open, func(h held) bool { return h.Key == r.Key })
	case Placed:
	}
	return c.save()
}

// save replaces the cursor's file.
func (c *cursor) save() error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(c.path+".new", c.path)
}
