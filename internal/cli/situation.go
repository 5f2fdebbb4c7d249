package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/store"
)

// situation is what bare clew shows.
type situation struct {
	At       time.Time  `json:"at"`
	Identity string     `json:"identity"`
	Needs    []need     `json:"needs_you"`  // what somebody in your roles has to do
	Others   []need     `json:"for_others"` // what waits for somebody in another role
	Frozen   []need     `json:"frozen"`
	Machines int        `json:"machines"`
	Last     []logLine  `json:"last"` // the newest acts
	All      []planView `json:"plans,omitempty"`
}

// need is one thing that waits, and what to type about it.
type need struct {
	Kind    string `json:"kind"` // restored, recovery, operation, drift, approval, dispatch, stale, no-baseline, frozen
	ID      string `json:"id"`
	Machine string `json:"machine,omitempty"`
	Text    string `json:"text"`
	Next    string `json:"next"`

	role string // who has to act
}

// bindSituation makes bare clew show the situation.
func (a *app) bindSituation(root *cobra.Command) {
	all := root.Flags().Bool("all", false, "bare clew: also what is fine, and every plan that is open")
	root.Args = cobra.ArbitraryArgs
	root.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("no command %q", shorten(args[0]))
		}
		return a.showSituation(c.Context(), *all)
	}
}

func (a *app) showSituation(ctx context.Context, all bool) error {
	st, ok, err := a.openExisting(ctx)
	if err != nil {
		return err
	}
	if !ok {
		empty := situation{At: time.Now().UTC(), Needs: []need{}, Others: []need{}, Frozen: []need{}, Last: []logLine{}}
		empty.Identity, _ = a.myName()
		return a.emit(empty, a.firstSteps)
	}
	s, err := a.situation(ctx, st, all)
	if err != nil {
		return err
	}
	if err := a.emit(s, func(w io.Writer) error { return a.situationText(w, s, all) }); err != nil {
		return err
	}
	if len(s.Needs) > 0 {
		return exitWith(exitNeedsYou)
	}
	return nil
}

// situation gathers what waits and sorts it by who has to act.
func (a *app) situation(ctx context.Context, st *store.Store, all bool) (situation, error) {
	s := situation{Needs: []need{}, Others: []need{}, Frozen: []need{}, Last: []logLine{}}
	var err error
	if s.Identity, err = a.myName(); err != nil {
		return s, err
	}
	if s.At, err = st.Now(ctx); err != nil {
		return s, err
	}
	roles, err := rolesOf(ctx, st, s.Identity)
	if err != nil {
		return s, err
	}
	views, err := a.machineViews(ctx, st, nil)
	if err != nil {
		return s, err
	}
	s.Machines = len(views)
	plans, err := a.planViews(ctx, st, "", false)
	if err != nil {
		return s, err
	}
	var waiting []need
	waiting = append(waiting, storeNeeds(ctx, st)...)
	for _, v := range views {
		waiting = append(waiting, machineNeeds(v)...)
	}
	for _, p := range plans {
		waiting = append(waiting, planNeeds(p)...)
	}
	for _, n := range waiting {
		switch {
		case n.Kind == "frozen":
			s.Frozen = append(s.Frozen, n)
		case slices.Contains(roles, n.role):
			s.Needs = append(s.Needs, n)
		default:
			s.Others = append(s.Others, n)
		}
	}
	if all {
		s.All = plans
	}
	names, err := machineNames(ctx, st)
	if err != nil {
		return s, err
	}
	q, err := a.query(ctx, st, "", logOptions{limit: actsShown})
	if err != nil {
		return s, err
	}
	fromReads := q.match
	q.match = func(l logLine) bool {
		return fromReads(l) && l.Kind != dispatch.EntryRead && l.Kind != dispatch.EntryReadFailed
	}
	s.Last, _, err = q.run(ctx, st, teller{names})
	return s, err
}

// actsShown is how many of the newest acts bare clew shows.
const actsShown = 5

func rolesOf(ctx context.Context, st *store.Store, name string) ([]string, error) {
	all, err := st.Identities(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		if i.Name == name && i.RevokedRevision == 0 {
			return i.Roles, nil
		}
	}
	if len(all) == 0 {
		return store.Roles(), nil // whoever acts first holds all
	}
	return nil, nil
}

// storeNeeds is what keeps everything from being dispatched.
func storeNeeds(ctx context.Context, st *store.Store) []need {
	if err := st.Restored(); err != nil {
		return []need{{Kind: "restored", ID: "installation", Text: err.Error(), Next: "clew admin recovery enter --reason TEXT", role: store.RoleRecoveryAdmin}}
	}
	if _, in, err := st.Epoch(ctx); err == nil && in {
		return []need{{
			Kind: "recovery", ID: "installation", Text: "recovery after a restore is under way: only released machines are dispatched to",
			Next: "clew admin recovery status", role: store.RoleRecoveryAdmin,
		}}
	}
	return nil
}

func machineNeeds(v machineView) []need {
	var out []need
	add := func(kind, id, text, next, role string) {
		out = append(out, need{Kind: kind, ID: id, Machine: v.Name, Text: text, Next: next, role: role})
	}
	if v.Operation != "" {
		add("operation", v.Operation, fmt.Sprintf("%s on %s is %s", v.Operation, v.Name, v.State), v.settle, store.RoleOperator)
	}
	if v.Drift != nil {
		add("drift", v.Drift.ID, fmt.Sprintf("%s runs %s, which nothing here applied", v.Name, dispatch.ShortDigest(v.Drift.Digest)),
			"clew machine diff "+v.Name, store.RoleAuthor)
	}
	if v.Frozen {
		add("frozen", v.ID, fmt.Sprintf("%s is frozen by %s: %s", v.Name, v.FrozenBy, v.FreezeReason), "clew machine unfreeze "+v.Name, store.RoleApprover)
	}
	return out
}

func planNeeds(p planView) []need {
	id := p.Plan.ID
	if p.Stale != "" {
		return []need{{
			Kind: "stale", ID: id, Machine: p.Machine, Text: fmt.Sprintf("%s for %s can no longer be dispatched: %s", id, p.Machine, p.Stale),
			Next: p.Next, role: store.RoleAuthor,
		}}
	}
	switch p.Standing.State {
	case dispatch.PlanProposed:
		return []need{{
			Kind: "approval", ID: id, Machine: p.Machine, Text: fmt.Sprintf("%s for %s waits for approval (by %s, expires %s)",
				id, p.Machine, p.Plan.Creator, showTime(p.Plan.ExpiresAt)), Next: p.Next, role: store.RoleApprover,
		}}
	case dispatch.PlanApproved:
		return []need{{
			Kind: "dispatch", ID: id, Machine: p.Machine, Text: fmt.Sprintf("%s for %s is approved and not dispatched", id, p.Machine),
			Next: p.Next, role: store.RoleOperator,
		}}
	case dispatch.PlanCommitted, dispatch.PlanRevoked, dispatch.PlanCancelled, dispatch.PlanExpired:
	}
	return nil
}

func (a *app) situationText(w io.Writer, s situation, all bool) error {
	if s.Machines == 0 && len(s.Needs) == 0 {
		return a.firstSteps(w)
	}
	section := func(title string, needs []need) {
		if len(needs) == 0 {
			return
		}
		fmt.Fprintln(w, a.paint(styleBold, title))
		for _, n := range needs {
			fmt.Fprintf(w, "  %s\n%s", printable(n.Text), nextLines("    ", n.Next))
		}
	}
	section("Needs you", s.Needs)
	section("Waits for others", s.Others)
	section("Frozen", s.Frozen)
	if len(s.Needs)+len(s.Others) == 0 {
		fmt.Fprintf(w, "quiet: %d machines, nothing unresolved, nothing waits\n", s.Machines)
	}
	if all {
		if err := a.planTable(w, s.All); err != nil {
			return err
		}
	}
	if len(s.Last) > 0 {
		fmt.Fprintln(w, a.paint(styleBold, "Last"))
		t := newTable(w)
		for _, l := range s.Last {
			t.row("  "+a.ago(l.At), l.where(), l.By, l.Text)
		}
		return t.flush()
	}
	return nil
}
