package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
)

// recordText writes a record and its newest entries.
func (a *app) recordText(w io.Writer, r record) error {
	if err := r.text(w); err != nil {
		return err
	}
	if len(r.Entries) > 0 {
		fmt.Fprintln(w)
		t := newTable(w, a.logColumns()...)
		for _, l := range r.Entries {
			t.row(a.logCells(l)...)
		}
		if err := t.flush(); err != nil {
			return err
		}
	}
	if r.Next != "" {
		fmt.Fprint(w, "\n"+nextLines("", r.Next))
	}
	return nil
}

// operationRecord is an operation with its attempts.
type operationRecord struct {
	Operation    dispatch.Operation `json:"operation"`
	Machine      string             `json:"machine"` // its name
	Attempts     []dispatch.Attempt `json:"attempts"`
	OwnerStopped string             `json:"owner_stopped,omitempty"` // why its executor counts as stopped
	Next         string             `json:"next,omitempty"`
}

func viewOperation(v dispatch.OperationView) operationRecord {
	o := operationRecord{Operation: v.Operation, Machine: v.Machine.Name, Attempts: v.Attempts, OwnerStopped: v.OwnerStopped}
	if o.Attempts == nil {
		o.Attempts = []dispatch.Attempt{}
	}
	if v.Operation.State.Holding() {
		o.Next = settling(v)
	}
	return o
}

func (a *app) operationText(w io.Writer, o operationRecord) error {
	op := o.Operation
	fmt.Fprintf(w, "%s %s on %s\n", a.paint(styleBold, "operation "+op.ID), op.State, printable(o.Machine))
	t := newTable(w)
	t.row("  plan", op.Plan)
	t.row("  because", op.Reason)
	for _, at := range o.Attempts {
		t.row(fmt.Sprintf("  attempt %d", at.Number), fmt.Sprintf("%s, %s; %s", showTime(at.StartedAt), at.Route, attemptOutcome(at)))
	}
	if len(o.Attempts) == 0 && op.Kind == dispatch.KindApply {
		t.row("  attempts", "none: nothing was sent")
	}
	if op.State.Holding() {
		t.row("  executor", first(o.OwnerStopped, "not shown to have stopped"))
	}
	if a.flags.verbose {
		t.row("  owner", fmt.Sprintf("%s, generation %d, epoch %s", op.Owner.Instance, op.Owner.Generation, op.Owner.Epoch))
		for _, at := range o.Attempts {
			t.row(fmt.Sprintf("  attempt %d", at.Number), fmt.Sprintf("revision %d, evidence basis %d, %s → %s from host %s",
				at.Revision, at.Evidence, at.LocalAddr, at.RemoteAddr, at.Host.Name))
		}
		if op.Retry != nil {
			t.row("  retry", fmt.Sprintf("classified safe at revision %d on basis %d", op.Retry.Revision, op.Retry.Basis))
		}
	}
	return t.flush()
}

// attemptOutcome is what is known of one attempt.
func attemptOutcome(at dispatch.Attempt) string {
	var parts []string
	if r := at.Response; r != nil {
		switch r.Class {
		case dispatch.Accepted:
			parts = append(parts, "accepted by the node")
		case dispatch.RejectedDef:
			parts = append(parts, withReason("rejected by the node ("+r.Code+")", shownResponse(*r)))
		case dispatch.Inconclusive:
			parts = append(parts, withReason("no conclusive answer", first(r.Code, shownResponse(*r))))
		}
	}
	if c := at.Accounting; c != nil {
		parts = append(parts, fmt.Sprintf("accounted for (%s, by %s): %s", c.Kind, c.By, c.Reason))
	}
	if _, ok := at.Accounted(); !ok {
		parts = append(parts, "not accounted for: it may still arrive")
	}
	return strings.Join(parts, "; ")
}

func approvalText(w io.Writer, ap dispatch.Approval) error {
	t := newTable(w)
	t.row("approval", ap.ID+" of "+ap.Plan)
	t.row("by", fmt.Sprintf("%s (%s) as %s", ap.Approver, ap.Assurance, ap.Role))
	t.row("at", showTime(ap.At))
	if ap.Self {
		t.row("self", "the approver made the plan, or wrote what it sends")
	}
	if ap.BreakGlass != "" {
		t.row("BREAK-GLASS", ap.BreakGlass)
	}
	switch {
	case ap.RevokedRevision != 0:
		t.row("state", "revoked")
	case ap.IdentityRevoked:
		t.row("state", "the approver's identity is revoked")
	default:
		t.row("state", "stands")
	}
	return t.flush()
}

func driftText(w io.Writer, machine string, d dispatch.Drift) error {
	t := newTable(w)
	t.row("drift", d.ID+" of "+machine)
	t.row("runs", dispatch.ShortDigest(d.Digest)+", which nothing here applied")
	t.row("state", first(d.ClosedAs, "open"))
	return t.flush()
}

func instanceText(w io.Writer, i store.Instance) error {
	t := newTable(w)
	t.row("executor", i.ID)
	t.row("host", fmt.Sprintf("%s, process %d", i.Host.Name, i.PID))
	t.row("started", showTime(i.StartedAt))
	switch {
	case i.AttestedBy != "":
		t.row("state", i.AttestedBy+" attests that it has ended")
	case i.EndedRevision != 0:
		t.row("state", "recorded its end")
	default:
		t.row("state", "no end is recorded")
	}
	return t.flush()
}

func rolloutText(w io.Writer, r dispatch.RolloutRow) error {
	t := newTable(w)
	t.row("rollout", r.ID)
	t.row("limit", fmt.Sprintf("%d at once, closed after more than %d failures", r.Limit, r.MaxFailed))
	t.row("open", strings.Join(r.Open, ", "))
	t.row("failed", fmt.Sprint(r.Failed))
	return t.flush()
}

// entryText is one entry, whole.
func (a *app) entryText(w io.Writer, l logLine) error {
	t := newTable(w)
	t.row("entry", fmt.Sprintf("%s revision %d", l.Scope, l.Revision))
	t.row("time", showTime(l.At))
	t.row("kind", l.Kind)
	t.row("by", l.By+roleSuffix(l.Actor))
	t.row("says", l.Text)
	for _, k := range l.Links {
		at := k.Scope.String()
		if k.Revision > 0 {
			at += fmt.Sprintf("@%d", k.Revision)
		}
		t.row("rests on", strings.TrimSpace(fmt.Sprintf("%s %s %s", k.Rel, k.ID, at)))
	}
	t.row("hash", l.Hash.String())
	if err := t.flush(); err != nil {
		return err
	}
	if a.flags.verbose && len(l.Body) > 0 {
		fmt.Fprintf(w, "\n%s\n", printable(string(l.Body)))
	}
	return nil
}

func roleSuffix(actor ledger.Actor) string {
	if actor.Role == "" {
		return ""
	}
	return fmt.Sprintf(" as %s (%s)", actor.Role, actor.Assurance)
}
