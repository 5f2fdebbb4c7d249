// Package situation is what a client keeps of the ledger for the time when nothing can be reached: a file that the program
// with the ledger replaces whenever something changes, and that the wrapper reads. The wrapper asks nobody.
//
// The file has two lines of JSON. The head is small and is read before commands and for prompts: when the ledger was
// reached, the clusters, and this host's sessions with their notices. The rest is read after a command failed: as much of
// the graph as lies on the ways from running acts to these sessions, and the facts from which package notice judges. It
// is a cache: an unreadable one is none, and says so in its age.
package situation

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
	"github.com/clewops/clew/internal/notice"
)

// Schema is the version of the file's format.
const Schema = "clew-situation/1"

// FileName is the file's name in the cache directory.
const FileName = "situation"

// Limits of what is read: a prompt waits for the head, and the end of a failed command for the rest.
const (
	maxHead  = 1 << 20
	maxFacts = 8 << 20
)

// Head is the file's first line.
type Head struct {
	Schema   string           `json:"schema"`
	Ledger   time.Time        `json:"ledger"` // when it was reached
	Clusters []Cluster        `json:"clusters,omitempty"`
	Sessions []notice.Session `json:"sessions,omitempty"`
	Notices  []notice.Notice  `json:"notices,omitempty"` // open ones of these sessions
}

// Cluster is a cluster by its name in the graph.
type Cluster struct {
	Name     string                `json:"name"`
	Known    act.KnownCluster      `json:"known"`
	Machines map[string]graph.Name `json:"machines,omitempty"` // by address or name
}

// Facts is the file's second line.
type Facts struct {
	Graph     graph.Specs       `json:"graph"`
	Acts      []notice.Act      `json:"acts,omitempty"`
	Interests []notice.Interest `json:"interests,omitempty"`
	Reports   []notice.Report   `json:"reports,omitempty"`
	Events    []notice.Event    `json:"events,omitempty"`
	Past      []notice.Past     `json:"past,omitempty"`
	Said      []notice.Entry    `json:"said,omitempty"` // in its order
}

// Write replaces the file. Readers see the old one or the new one.
func Write(dir string, h Head, f Facts) error {
	h.Schema = Schema
	head, err := json.Marshal(h)
	if err != nil {
		return err
	}
	facts, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if len(head) > maxHead || len(facts) > maxFacts {
		return fmt.Errorf("the situation is too large to be kept (%d and %d bytes): leave out what no session of this host can meet", len(head), len(facts))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, FileName+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(slices.Concat(head, []byte("\n"), facts, []byte("\n")))
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), filepath.Join(dir, FileName))
}

// Situation is an open file with its head read.
type Situation struct {
	Head
	rest io.Reader
	file *os.File
}

// errOther says that the file is of another version, or none.
var errOther = errors.New("not a situation that this version reads")

// Open reads the head. The file stays open, so that the rest belongs to it.
func Open(dir string) (*Situation, error) {
	f, err := os.Open(filepath.Join(dir, FileName))
	if err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(io.LimitReader(f, maxHead+maxFacts), 64<<10)
	s := &Situation{rest: r, file: f}
	line, err := readLine(r, maxHead)
	if err == nil {
		err = json.Unmarshal(line, &s.Head)
	}
	if err == nil && s.Schema != Schema {
		err = errOther
	}
	if err != nil {
		f.Close() //lint:ignore errcheck it was only read
		return nil, err
	}
	return s, nil
}

// Facts reads the rest.
func (s *Situation) Facts() (Facts, error) {
	var f Facts
	line, err := readLine(s.rest.(*bufio.Reader), maxFacts)
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(line, &f)
}

// Close lets the file go.
func (s *Situation) Close() {
	s.file.Close() //lint:ignore errcheck it was only read
}

// readLine reads a line that has its end: a file without it was cut.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > most:
			return nil, errOther
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
