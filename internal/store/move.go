package store

import (
	"fmt"
	"slices"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
)

// step is one event on its way into the ledger.
type step struct {
	event dispatch.Event
	entry string // kind of its entry; EntryMoved where "" stands
	actor ledger.Actor
	links []ledger.Link
	body  dispatch.Body // what the entry says beside the operation, the machine, the event and the state before
}

// move offers an event to dispatch.Step and writes what it answers: the entry, the operation, and the effects on the
// machine, its drift record and the rollout. The case then holds what was written. Step's refusal changes nothing.
func (tx *Tx) move(c *dispatch.Case, s step) error {
	op, fx, err := tx.judge(c, &s)
	if err != nil {
		return err
	}
	if err := tx.writeStep(c, s, op, fx); err != nil {
		return err
	}
	if err := tx.saveOperation(op); err != nil {
		return err
	}
	return tx.effects(c, s, fx)
}

// judge asks Step for the event at the revision that its entry will have.
func (tx *Tx) judge(c *dispatch.Case, s *step) (dispatch.Operation, dispatch.Effects, error) {
	rev, err := tx.next(machineScope(c.Op.Machine))
	if err != nil {
		return c.Op, dispatch.Effects{}, err
	}
	s.event.Revision = rev
	op, fx, r := dispatch.Step(*c, s.event)
	if r != nil {
		return c.Op, fx, r
	}
	return op, fx, nil
}

// writeStep appends the event's entry and takes its operation and machine over into the case. Applied and the baseline
// change with the operation, in one entry. I3
func (tx *Tx) writeStep(c *dispatch.Case, s step, op dispatch.Operation, fx dispatch.Effects) error {
	body := s.body
	body.Operation, body.Event, body.From = &op, s.event.Kind, c.Op.State
	if body.Text == "" {
		body.Text = s.event.Reason
	}
	if o := s.event.Observation; o != nil {
		body.Evidence = o.Basis
	}
	if fx.Applied != "" {
		c.Machine.Applied, c.Machine.AppliedSource, c.Machine.BaselineRevision = fx.Applied, op.ID, s.event.Revision
		m := c.Machine
		body.Machine = &m
	}
	if s.entry == "" {
		s.entry = dispatch.EntryMoved
	}
	if _, err := tx.append(machineScope(op.Machine), s.entry, s.actor, s.links, body); err != nil {
		return err
	}
	c.Op = op
	if fx.Applied != "" {
		return tx.saveMachine(c.Machine)
	}
	return nil
}

// effects writes what an end brings with it, each as an entry of its own.
func (tx *Tx) effects(c *dispatch.Case, s step, fx dispatch.Effects) error {
	links := []ledger.Link{{Rel: "operation", Scope: machineScope(c.Op.Machine), Revision: s.event.Revision, ID: c.Op.ID}}
	if fx.CloseDrift != "" && c.Machine.Drift != nil {
		if err := tx.closeDrift(&c.Machine, fx.CloseDrift, s.actor, links); err != nil {
			return err
		}
	}
	if fx.OpenDrift != "" {
		var basis int64
		if s.event.Observation != nil {
			basis = s.event.Observation.Basis
		}
		if err := tx.driftTo(&c.Machine, fx.OpenDrift, basis, s.actor, links); err != nil {
			return err
		}
	}
	if fx.Release {
		return tx.freeSlot(c.Op, s.actor, links)
	}
	return nil
}

// closeDrift closes the machine's open drift record.
func (tx *Tx) closeDrift(m *dispatch.Machine, as string, actor ledger.Actor, links []ledger.Link) error {
	rev, err := tx.next(machineScope(m.ID))
	if err != nil {
		return err
	}
	d := *m.Drift
	d.ClosedRevision, d.ClosedAs = rev, as
	m.Drift = nil
	return tx.writeDrift(*m, d, dispatch.EntryDriftClosed, 0, actor, links)
}

// driftTo opens a drift record at the digest, or adds the digest to the open one.
func (tx *Tx) driftTo(m *dispatch.Machine, digest string, basis int64, actor ledger.Actor, links []ledger.Link) error {
	if m.Drift != nil {
		if m.Drift.Digest == digest {
			return nil
		}
		d := *m.Drift
		d.Digest = digest
		m.Drift = &d
		return tx.writeDrift(*m, d, dispatch.EntryDriftAdded, basis, actor, links)
	}
	id, err := tx.newID(DriftPrefix, "drifts", "id")
	if err != nil {
		return err
	}
	rev, err := tx.next(machineScope(m.ID))
	if err != nil {
		return err
	}
	d := dispatch.Drift{ID: id, OpenedRevision: rev, Digest: digest}
	m.Drift = &d
	return tx.writeDrift(*m, d, dispatch.EntryDriftOpened, basis, actor, links)
}

func (tx *Tx) writeDrift(m dispatch.Machine, d dispatch.Drift, kind string, basis int64, actor ledger.Actor, links []ledger.Link) error {
	body := dispatch.Body{Drift: &d, Machine: &m, Evidence: basis}
	if _, err := tx.append(machineScope(m.ID), kind, actor, links, body); err != nil {
		return err
	}
	return tx.saveDrift(m.ID, d)
}

// takeSlot records that a commitment took a slot of its rollout.
func (tx *Tx) takeSlot(r dispatch.RolloutRow, op dispatch.Operation, actor ledger.Actor, links []ledger.Link) error {
	r.Open = append(slices.Clone(r.Open), op.ID)
	slices.Sort(r.Open)
	return tx.writeRollout(r, dispatch.EntryRolloutTaken, actor, links, "")
}

// freeSlot records that an operation which ended gave its rollout slot back. I5
func (tx *Tx) freeSlot(op dispatch.Operation, actor ledger.Actor, links []ledger.Link) error {
	if op.Rollout == "" {
		return nil
	}
	r, err := tx.rolloutRow(op.Rollout)
	if err != nil {
		return err
	}
	if r == nil {
		return tx.note(fmt.Errorf("store: rollout %s of %s has no row", op.Rollout, op.ID))
	}
	r.Open = slices.DeleteFunc(slices.Clone(r.Open), func(id string) bool { return id == op.ID })
	if op.State == dispatch.Failed || op.State == dispatch.Rejected {
		r.Failed++
	}
	return tx.writeRollout(*r, dispatch.EntryRolloutFreed, actor, links, "")
}

func (tx *Tx) writeRollout(r dispatch.RolloutRow, kind string, actor ledger.Actor, links []ledger.Link, text string) error {
	if _, err := tx.append(rolloutScope(r.ID), kind, actor, links, dispatch.Body{Rollout: &r, Text: text}); err != nil {
		return err
	}
	return tx.saveRollout(r)
}
