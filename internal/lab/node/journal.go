package node

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Kinds of journal lines.
const (
	// EntryEntered: a call came in.
	EntryEntered = "entered"
	// EntryLanded: the call has changed a MachineConfig resource. It is written before the answer, so that a node that
	// dies in between has counted it.
	EntryLanded = "landed"
	// EntryAnswered: the handler returned, with this code. The caller may never see it.
	EntryAnswered = "answered"
	// EntryRolledBack: a try was undone.
	EntryRolledBack = "rolled back"
	// EntryPersisted: the persistent configuration has reached STATE.
	EntryPersisted = "persisted"
	// EntryBooted: a boot began.
	EntryBooted = "booted"
)

// Apply is one line of a node's journal, applies.jsonl.
type Apply struct {
	Time   time.Time `json:"time"`
	BootID string    `json:"boot_id"`
	Entry  string    `json:"entry"`
	// Call numbers the calls of one boot from 1; zero when the line belongs to none.
	Call   int    `json:"call,omitempty"`
	Mode   string `json:"mode,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
	// SHA256 of the submitted (or written) bytes, in hex.
	SHA256 string `json:"sha256,omitempty"`
	Code   string `json:"code,omitempty"`
	// Active and Persistent are the resource versions after a landing or rollback, 0 when there is no such resource.
	Active     uint64 `json:"active,omitempty"`
	Persistent uint64 `json:"persistent,omitempty"`
}

// Counters sum up a journal.
type Counters struct {
	// Answered counts calls by the code their handler returned.
	Answered map[string]int `json:"answered"`
	// Entered counts calls; those without an answer died or were held back.
	Entered int `json:"entered"`
	// Landings are the calls that changed a MachineConfig resource, identical bytes included.
	Landings []Apply `json:"landings"`
	// Boots counts boots, the first one included.
	Boots int `json:"boots"`
}

const journalFile = "applies.jsonl"

type journal struct {
	mu   sync.Mutex
	path string
	boot string
}

// add appends one line. It panics when that fails: a node that cannot count must not go on and be believed.
func (j *journal) add(a Apply) {
	a.Time, a.BootID = time.Now(), j.boot

	b, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}

	j.mu.Lock()
	defer j.mu.Unlock()

	f, err := os.OpenFile(j.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()

	if _, err := f.Write(append(b, '\n')); err != nil {
		panic(err)
	}
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)

	return hex.EncodeToString(sum[:])
}

// ReadApplies reads the journal of the node in dir, oldest first.
func ReadApplies(dir string) ([]Apply, error) {
	f, err := os.Open(filepath.Join(dir, journalFile))
	if os.IsNotExist(err) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}
	defer f.Close()

	var all []Apply

	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var a Apply
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", f.Name(), len(all)+1, err)
		}

		all = append(all, a)
	}

	return all, lines.Err()
}

// ReadCounters sums up the journal of the node in dir.
func ReadCounters(dir string) (Counters, error) {
	c := Counters{Answered: map[string]int{}}

	all, err := ReadApplies(dir)
	if err != nil {
		return c, err
	}

	for _, a := range all {
		switch a.Entry {
		case EntryEntered:
			c.Entered++
		case EntryLanded:
			c.Landings = append(c.Landings, a)
		case EntryAnswered:
			c.Answered[a.Code]++
		case EntryBooted:
			c.Boots++
		}
	}

	return c, nil
}
