package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"

	"github.com/clewops/clew/internal/act"
)

// Kind says what a record tells.
type Kind string

// Kinds of records. Lost is not in the file: a reader concludes it.
const (
	Begin  Kind = "begin"
	Placed Kind = "placed" // where the act works, found out while it ran
	End    Kind = "end"
	Lost   Kind = "lost" // the wrapper is no more and did not say how the command ended
)

// Record is one line of a journal. Kind and Key together are its name: the same name again is the same record.
type Record struct {
	Kind    Kind          `json:"kind"`
	Key     string        `json:"key"` // of the act, until the ledger gives it an id
	At      time.Time     `json:"at"`
	Session *act.Session  `json:"session,omitempty"` // begin
	Act     *act.Observed `json:"act,omitempty"`     // begin
	Open    bool          `json:"open,omitempty"`    // there can be more targets than are named
	Observe act.Observe   `json:"observe,omitempty"` // how the outcome can be seen
	Targets []act.Target  `json:"targets,omitempty"` // placed
	Place   *act.Place    `json:"place,omitempty"`   // placed
	Exit    *act.Exit     `json:"exit,omitempty"`    // end
	Holder  *Holder       `json:"holder,omitempty"`  // begin
}

// Holder is the wrapper that has an act in its hands.
type Holder struct {
	Lock  int64  `json:"lock,omitempty"` // the byte it holds; 0: the file system knows no locks
	PID   int    `json:"pid"`
	Start string `json:"start,omitempty"` // in the system's own unit
	Boot  string `json:"boot,omitempty"`
}

// longest is the longest line that is read.
const longest = 1 << 20

// encode makes a record's line, between two line ends.
func encode(r Record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	line := fmt.Appendf(make([]byte, 0, len(text)+11), "\n%08x ", crc32.ChecksumIEEE(text))
	return append(append(line, text...), '\n'), nil
}

var errDamaged = errors.New("a damaged line")

// decode reads a line without its end.
func decode(line []byte) (Record, error) {
	var r Record
	sum, text, ok := bytes.Cut(line, []byte(" "))
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if !ok || len(sum) != 8 || err != nil || uint64(crc32.ChecksumIEEE(text)) != want {
		return r, errDamaged
	}
	if json.Unmarshal(text, &r) != nil || r.Key == "" {
		return r, errDamaged
	}
	return r, nil
}
