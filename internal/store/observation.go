package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// StartRead writes the entry that says that a read of a machine begins, and returns its revision: the basis that orders
// the reading. o names machine, purpose, instance, route, and the plan or operation that the read is for. Retrying it
// leaves a started read behind that says nothing.
func (s *Store) StartRead(ctx context.Context, o dispatch.Observation) (int64, error) {
	if s.cfg.Without.Has(dispatch.GuardBasisLock) {
		return s.startReadUnlocked(ctx, o)
	}
	err := s.update(ctx, locks{machines: []string{o.Machine}}, "the start of a read", func(tx *Tx) error {
		if _, err := tx.machine(o.Machine); err != nil {
			return err
		}
		rev, err := tx.next(machineScope(o.Machine))
		if err != nil {
			return err
		}
		o.Basis, o.Revision, o.StartedAt, o.Reading = rev, 0, tx.Now(), dispatch.Reading{}
		if _, err := tx.append(machineScope(o.Machine), dispatch.EntryReadStarted, readActor(o), nil, dispatch.Body{Observation: &o}); err != nil {
			return err
		}
		return tx.insertObservation(o)
	})
	return o.Basis, err
}

// startReadUnlocked is what a control does instead: the basis is the newest revision that can be seen without the lock, so
// that a transaction still open is ordered before the read although it commits after it.
func (s *Store) startReadUnlocked(ctx context.Context, o dispatch.Observation) (int64, error) {
	err := s.update(ctx, locks{}, "the start of a read", func(tx *Tx) error {
		head, err := tx.head(machineScope(o.Machine))
		if err != nil {
			return err
		}
		o.Basis, o.StartedAt = head.Revision, tx.Now()
		return tx.insertObservation(o)
	})
	return o.Basis, err
}

// readActor is the process that reads.
func readActor(o dispatch.Observation) ledger.Actor { return ledger.Actor{Instance: o.Instance} }

// RecordRead records the reading of a started read, and what it does to the machine's drift record. It returns the
// observation as recorded. A read is recorded once: the same one again returns what was recorded.
func (s *Store) RecordRead(ctx context.Context, o dispatch.Observation) (dispatch.Observation, dispatch.DriftChange, error) {
	change := dispatch.DriftNone
	err := s.update(ctx, locks{machines: []string{o.Machine}}, "a reading", func(tx *Tx) (err error) {
		o, change, err = tx.recordRead(o)
		return err
	})
	return o, change, err
}

func (tx *Tx) recordRead(o dispatch.Observation) (dispatch.Observation, dispatch.DriftChange, error) {
	started, failed, err := tx.startedRead(o.Machine, o.Basis)
	if err != nil {
		return o, dispatch.DriftNone, err
	}
	if started.Instance != o.Instance || failed {
		return o, dispatch.DriftNone, refusal.New("reading", "read-over", "the read was begun by another process, or has failed", "")
	}
	if started.Revision != 0 {
		return started, dispatch.DriftNone, nil
	}
	rev, err := tx.next(machineScope(o.Machine))
	if err != nil {
		return o, dispatch.DriftNone, err
	}
	done := started
	done.Revision, done.Reading = rev, o.Reading
	done.LocalAddr, done.RemoteAddr, done.ReadAddress = o.LocalAddr, o.RemoteAddr, o.ReadAddress
	links := []ledger.Link{{Rel: "started", Scope: machineScope(o.Machine), Revision: o.Basis}}
	if _, err := tx.append(machineScope(o.Machine), dispatch.EntryRead, readActor(done), links, dispatch.Body{Observation: &done}); err != nil {
		return o, dispatch.DriftNone, err
	}
	ended, err := tx.endRead(done)
	if err != nil {
		return o, dispatch.DriftNone, err
	}
	if !ended {
		return o, dispatch.DriftNone, tx.note(fmt.Errorf("store: the read of basis %d ended meanwhile", o.Basis))
	}
	if err := tx.versionMoved(done, readActor(done)); err != nil {
		return o, dispatch.DriftNone, err
	}
	change, err := tx.judgeDrift(done, readActor(done))
	return done, change, err
}

// startedRead is a read that began, and whether it failed.
func (tx *Tx) startedRead(machine string, basis int64) (dispatch.Observation, bool, error) {
	o, err := scanObservation(tx.row(selectObservation+` WHERE machine = $1 AND basis = $2`, machine, basis).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return o, false, unknownRecord("read", fmt.Sprintf("%s basis %d", machine, basis))
	}
	if err != nil {
		return o, false, err
	}
	var failed string
	err = tx.row(`SELECT failed FROM observations WHERE machine = $1 AND basis = $2`, machine, basis).Scan(&failed)
	return o, failed != "", err
}

// FailRead records that a started read showed nothing. reason holds no secret. A read that is over stays as it is.
func (s *Store) FailRead(ctx context.Context, machine string, basis int64, instance, reason string) error {
	if reason == "" {
		reason = "the read failed"
	}
	return s.update(ctx, locks{machines: []string{machine}}, "a failed read", func(tx *Tx) error {
		o, failed, err := tx.startedRead(machine, basis)
		if err != nil {
			return err
		}
		if o.Instance != instance {
			return refusal.New("reading", "read-over", "the read was begun by another process", "")
		}
		if failed || o.Revision != 0 {
			return nil
		}
		links := []ledger.Link{{Rel: "started", Scope: machineScope(machine), Revision: basis}}
		body := dispatch.Body{Observation: &o, Text: reason}
		if _, err := tx.append(machineScope(machine), dispatch.EntryReadFailed, readActor(o), links, body); err != nil {
			return err
		}
		return tx.exec1(`UPDATE observations SET failed = $1 WHERE machine = $2 AND basis = $3 AND revision = 0`, reason, machine, basis)
	})
}

// LatestObservation is the recorded reading of the highest basis, nil before the first.
func (s *Store) LatestObservation(ctx context.Context, machine string) (*dispatch.Observation, error) {
	var o *dispatch.Observation
	err := s.view(ctx, func(tx *Tx) (err error) {
		o, err = tx.newestObservation(machine)
		return err
	})
	return o, err
}
