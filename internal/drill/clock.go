package drill

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/clewops/clew/internal/config"
)

// readClock is the host's clock as far off as the file says. Where the file does not say, the time is the zero time, which
// is behind everything: nothing commits by a clock that cannot be read.
func readClock(path string) time.Time {
	b, err := os.ReadFile(path)
	if err != nil {
		return time.Time{}
	}
	off, err := time.ParseDuration(strings.TrimSpace(string(b)))
	if err != nil {
		return time.Time{}
	}
	return time.Now().Add(off)
}

// TakeClock gives the executors that are started from now on a clock of the row's own, which StepClock steps: on SQLite the
// host's clock as they see it, on PostgreSQL the server's as their sessions see it. The ledger of this process keeps its own.
func (s *Stage) TakeClock() {
	s.clock = s.path("clock")
	if s.Store == config.Postgres {
		s.psql(`CREATE SCHEMA drill_clock;
			CREATE TABLE drill_clock.off (by interval NOT NULL);
			INSERT INTO drill_clock.off VALUES ('0');
			CREATE FUNCTION drill_clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
				AS 'SELECT pg_catalog.clock_timestamp() + by FROM drill_clock.off';
			DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = drill_clock, pg_catalog, public', current_database()); END $$;`)
	}
	s.StepClock(0)
}

// StepClock sets how far the executors' clock is off.
func (s *Stage) StepClock(off time.Duration) {
	done := s.inject("clock", "step", off.String())
	if s.Store == config.Postgres {
		s.psql(fmt.Sprintf("UPDATE drill_clock.off SET by = '%d seconds';", int64(off.Seconds())))
	}
	next := s.clock + ".next" // renamed into place: nobody reads half of it
	s.must(os.WriteFile(next, []byte(off.String()+"\n"), 0o600), "stepping the clock")
	s.must(os.Rename(next, s.clock), "stepping the clock")
	done("")
}
