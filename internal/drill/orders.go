package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
)

// databasePrefix begins the name of every database that the drill makes.
const databasePrefix = "clew_drill_"

// Orders are what an executor is told beyond its command line: where its gates are, and which guards it lacks. They hold
// no secret.
type Orders struct {
	Gates   string           `json:"gates"`
	Without dispatch.Without `json:"without,omitempty"`
	Clock   string           `json:"clock,omitempty"` // a file that says how far this host's clock is off

	path string
}

// ReadOrders reads an executor's orders. A guard that nobody knows is an error.
func ReadOrders(path string) (*Orders, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	o := &Orders{}
	if err := json.Unmarshal(b, o); err != nil {
		return nil, fmt.Errorf("%s holds no orders of a drill: %w", path, err)
	}
	if o.path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, err
	}
	names := make([]string, len(o.Without))
	for i, g := range o.Without {
		names[i] = string(g)
	}
	if o.Without, err = dispatch.ParseWithout(strings.Join(names, ",")); err != nil {
		return nil, err
	}
	if o.Gates == "" {
		return nil, fmt.Errorf("%s names no directory of gates", path)
	}
	return o, nil
}

func (o Orders) write(path string) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

// Gate stops at a gate that is armed.
func (o *Orders) Gate(ctx context.Context, name string) error {
	return gateDir(o.Gates).Stop(ctx, name)
}

// Time is the host's clock as the drill has it, nil for the real one.
func (o *Orders) Time() func() time.Time {
	if o.Clock == "" {
		return nil
	}
	return func() time.Time { return readClock(o.Clock) }
}

// Admit refuses a store that no drill made: gates would hold its locks, and guards that are missing would harm it.
func (o *Orders) Admit(l config.Location) error {
	own := false
	switch l.Engine {
	case config.SQLite:
		// The orders lie in RUN/ROW/executors/NAME/orders.json, the store in RUN/ROW or on the row's disk in there.
		real, err := filepath.EvalSymlinks(filepath.Dir(l.Path))
		if err != nil {
			return err
		}
		row := filepath.Dir(filepath.Dir(filepath.Dir(o.path)))
		own = (real == row || real == filepath.Join(row, diskDir)) && filepath.Base(filepath.Dir(filepath.Dir(o.path))) == executorsDir
	case config.Postgres:
		u, err := url.Parse(l.URL.Reveal())
		own = err == nil && strings.HasPrefix(strings.TrimPrefix(u.Path, "/"), databasePrefix)
	}
	if !own {
		return fmt.Errorf("%s is not a store that a drill made: an executor of a drill uses no other", l)
	}
	return nil
}

// executorsDir holds a directory for each executor of a row.
const executorsDir = "executors"
