package store

import (
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/refusal"
)

// judgeDrift applies the rules of machine drift to a recorded reading and writes what they say. The machine's scope is
// held by this transaction.
func (tx *Tx) judgeDrift(o dispatch.Observation, actor ledger.Actor) (dispatch.DriftChange, error) {
	m, err := tx.machine(o.Machine)
	if err != nil {
		return dispatch.DriftNone, err
	}
	f := dispatch.DriftFacts{Machine: m, Observation: o}
	if f.Operations, err = tx.heldSince(m.ID, o.Basis); err != nil {
		return dispatch.DriftNone, err
	}
	newest, err := tx.newestObservation(m.ID)
	if err != nil {
		return dispatch.DriftNone, err
	}
	f.HigherBasis = newest != nil && newest.Basis > o.Basis
	change := dispatch.JudgeDrift(f)
	links := []ledger.Link{{Rel: "observation", Scope: machineScope(m.ID), Revision: o.Revision}}
	switch change {
	case dispatch.DriftOpens, dispatch.DriftAdds:
		late, err := tx.lateLanding(o)
		if err != nil {
			return dispatch.DriftNone, err
		}
		return change, tx.driftTo(&m, o.Reading.Active.Digest, o.Basis, actor, append(links, lateLinks(m.ID, late)...))
	case dispatch.DriftCloses:
		return change, tx.closeDrift(&m, dispatch.DriftReturned, actor, links)
	case dispatch.DriftNone:
	}
	return change, nil
}

// lateLanding names the lost attempt that the reading may show to have landed after it was accounted for.
func (tx *Tx) lateLanding(o dispatch.Observation) (*dispatch.Attempt, error) {
	sent, err := tx.sentIfLost(o.Machine)
	if err != nil {
		return nil, err
	}
	return dispatch.LateLanding(sent, o), nil
}

// sentIfLost are the attempts ever recorded for the machine, nil when none of them was lost and accounted for: that is
// the usual case, and it costs one look at an index.
func (tx *Tx) sentIfLost(machine string) ([]dispatch.Sent, error) {
	var lost int64
	err := tx.row(`SELECT COUNT(*) FROM attempts a JOIN operations o ON o.id = a.operation
		WHERE o.machine = $1 AND a.accounting <> ''`, machine).Scan(&lost)
	if err != nil || lost == 0 {
		return nil, err
	}
	return tx.sentTo(machine)
}

func lateLinks(machine string, a *dispatch.Attempt) []ledger.Link {
	if a == nil {
		return nil
	}
	return []ledger.Link{
		{Rel: "late-landing", Scope: machineScope(machine), Revision: a.Revision, ID: a.Operation},
		{Rel: "accounting", Scope: machineScope(machine), Revision: a.Accounting.Revision},
	}
}

// versionMoved records a late landing of bytes that the machine showed already: the resource's version moved within one
// boot, and no recorded attempt explains it. Bytes that differ are drift's to tell.
func (tx *Tx) versionMoved(o dispatch.Observation, actor ledger.Actor) error {
	sent, err := tx.sentIfLost(o.Machine)
	if err != nil || sent == nil {
		return err
	}
	earlier, err := tx.observationBefore(o.Machine, o.Basis)
	if err != nil || earlier == nil {
		return err
	}
	late := dispatch.LateLanding(sent, *earlier)
	if late == nil || !dispatch.VersionMoved(sent, *earlier, o) {
		return nil
	}
	scope := machineScope(o.Machine)
	links := append(lateLinks(o.Machine, late), ledger.Link{Rel: "observation", Scope: scope, Revision: o.Revision})
	_, err = tx.append(scope, dispatch.EntryVersionMoved, actor, links, dispatch.Body{
		Code: "late-landing", Evidence: o.Basis,
		Text: "the configuration was written again with identical bytes; a lost attempt of " + late.Operation + " would explain it",
	})
	return err
}

// driftFromEvidence applies the rules of drift to the evidence of a commitment that was refused on its digest.
func (tx *Tx) driftFromEvidence(b binding, by dispatch.Owner, r *refusal.Refusal) error {
	if r.Comparison != 3 || r.Code != "other-digest" {
		return nil
	}
	var evidence []dispatch.Observation
	err := tx.together(evidenceOf(&evidence, b.machine, by.Instance, b.plan, ""))
	o := first(evidence)
	if err != nil || o == nil {
		return err
	}
	_, err = tx.judgeDrift(*o, executorActor(by))
	return err
}
