package world

import (
	"context"
	"time"

	"github.com/clewops/clew/internal/store/storetest"
)

// Pass lets time pass without waiting for it. On SQLite the store's clock moves. PostgreSQL's clock is its own, so there a
// schema that is searched before its own gets a clock that is ahead of it.
func (w *World) Pass(d time.Duration) {
	w.T.Helper()
	if w.clock != nil {
		w.clock.mu.Lock()
		w.clock.ahead += d
		w.clock.mu.Unlock()
		return
	}
	db := w.database()
	defer db.Close()
	_, err := db.ExecContext(context.Background(), movedClock)
	w.no(err)
	_, err = db.ExecContext(context.Background(), `UPDATE `+storetest.MovedClock+`.ahead SET by = by + $1`, d.Microseconds())
	w.no(err)
}

// movedClock is one statement: the schema must not be there without its clock, because plans are made again only when a
// schema comes.
const movedClock = `DO $do$ BEGIN
	PERFORM pg_advisory_xact_lock(1);
	IF to_regclass('` + storetest.MovedClock + `.ahead') IS NULL THEN
		CREATE SCHEMA ` + storetest.MovedClock + `;
		CREATE TABLE ` + storetest.MovedClock + `.ahead (by bigint NOT NULL);
		INSERT INTO ` + storetest.MovedClock + `.ahead VALUES (0);
		CREATE FUNCTION ` + storetest.MovedClock + `.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
			'SELECT pg_catalog.clock_timestamp() + (SELECT by FROM ` + storetest.MovedClock + `.ahead) * interval ''1 microsecond''';
	END IF;
END $do$`
