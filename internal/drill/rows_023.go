package drill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/sim"
)

func init() {
	register(Row{
		ID:     "023",
		Case:   "the protocol's own tests, on this store: every scripted history, with its controls (random ones are left out)",
		Expect: "failed=none; skipped=none; passed>=50; seen:histories",
		Bare:   true, Nets: []lab.LinkMode{lab.LinksUserland}, Takes: 20 * time.Second,
		Script: func(s *Stage) {
			all, err := sim.ScriptedHistories()
			s.must(err, "reading the scripted histories")
			passed, failed := 0, []string{}
			places := map[string]*sim.Place{}
			defer func() {
				for _, p := range places {
					s.must(p.Close(), "closing a place of histories")
				}
			}()
			for _, h := range all {
				key := fmt.Sprint(h.Without)
				if places[key] == nil {
					places[key], err = s.placeOf(len(places), h)
					s.must(err, "making a place for histories")
				}
				wrong, err := h.Run(places[key])
				s.must(err, "running history %s", h.Name)
				if wrong != "" {
					s.Note("history %s: %s", h.Name, wrong)
					failed = append(failed, h.Name)
					continue
				}
				passed++
			}
			s.Set("histories", len(all))
			s.Set("passed", passed)
			s.Set("skipped", none(len(all)-passed-len(failed)))
			s.Set("failed", orNone(failed))
		},
	})
}

// placeOf makes a database of the row's kind for histories that lack the same guards.
func (s *Stage) placeOf(n int, h sim.Scripted) (*sim.Place, error) {
	dir := s.path(fmt.Sprintf("histories-%d", n))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	location := config.Location{Engine: s.Store, Path: filepath.Join(dir, "store.db")}
	if s.Store == config.Postgres {
		u, err := s.Server().CreateDatabase(s.ctx, fmt.Sprintf("%s023_%d", databasePrefix, databases.Add(1)))
		if err != nil {
			return nil, err
		}
		location = config.Location{Engine: s.Store, URL: u}
	}
	p, err := sim.NewPlace(location, dir, h.Without)
	if err != nil {
		return nil, errors.Join(err, fmt.Errorf("for history %s", h.Name))
	}
	return p, nil
}

func none(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
