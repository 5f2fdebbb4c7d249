package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
)

// record is what clew show answers: the record as it stands, and the entries that made it so.
type record struct {
	Kind    string    `json:"kind"`
	ID      string    `json:"id"`
	Record  any       `json:"record"`
	Entries []logLine `json:"entries"`
	Next    string    `json:"next,omitempty"`

	text func(io.Writer) error
}

func newShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "One record of any kind, its evidence and links",
		Long: `Shows a machine, plan, operation, approval, drift record, executor, rollout, person or configuration by its id, by a unique
beginning of it, or - for the last one shown. SCOPE@REVISION shows one entry, such as m-4fz@12.`,
		Example:           "  clew show op-4fz\n  clew show -\n  clew show m-4fz@12 -o json",
		GroupID:           groupDaily,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRecords,
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			if strings.TrimSpace(args[0]) == "" {
				return usagef("ID is empty")
			}
			st, err := a.mustExist(ctx)
			if err != nil {
				return err
			}
			r, err := a.record(ctx, st, args[0])
			if err != nil {
				return err
			}
			a.saw(r.ID)
			return a.emit(r, func(w io.Writer) error { return a.recordText(w, r) })
		},
	}
}

// record finds and puts together what a word means.
func (a *app) record(ctx context.Context, st *store.Store, word string) (record, error) {
	if scope, revision, ok := strings.Cut(word, "@"); ok {
		if n, err := strconv.ParseInt(revision, 10, 64); err == nil && n > 0 {
			return a.entryRecord(ctx, st, scope, n)
		}
	}
	word = strings.TrimPrefix(word, "node/")
	kind, id, err := a.find(ctx, st, word)
	if err != nil {
		return record{}, err
	}
	r := record{Kind: kind, ID: id}
	if err := a.fill(ctx, st, &r); err != nil {
		return r, err
	}
	q, err := a.query(ctx, st, id, logOptions{limit: entriesShown, all: true})
	if err != nil {
		return r, err
	}
	names, err := machineNames(ctx, st)
	if err != nil {
		return r, err
	}
	r.Entries, _, err = q.run(ctx, st, teller{names})
	return r, err
}

// entriesShown is how many entries of a record's history are shown with it.
const entriesShown = 30

// fill reads the record itself.
func (a *app) fill(ctx context.Context, st *store.Store, r *record) error {
	switch r.Kind {
	case "machine":
		views, err := a.machineViews(ctx, st, []string{r.ID})
		if err != nil {
			return err
		}
		r.Record, r.text = views[0], func(w io.Writer) error { return a.machineText(w, views[0]) }
	case "plan":
		v, err := a.loadPlan(ctx, st, r.ID)
		if err != nil {
			return err
		}
		r.Record, r.Next, r.text = v, v.Next, func(w io.Writer) error { return a.planText(w, v) }
	case "operation":
		v, err := st.Operation(ctx, r.ID)
		if err != nil {
			return err
		}
		o := viewOperation(v)
		r.Record, r.Next, r.text = o, o.Next, func(w io.Writer) error { return a.operationText(w, o) }
	case "instance":
		i, err := st.Instance(ctx, r.ID)
		r.Record, r.text = i, func(w io.Writer) error { return instanceText(w, i) }
		return err
	case "identity":
		i, err := st.Identity(ctx, r.ID)
		r.Record, r.text = i, func(w io.Writer) error { return identityTable(w, []store.Identity{i}) }
		return err
	case "rollout":
		row, err := st.Rollout(ctx, r.ID)
		r.Record, r.text = row, func(w io.Writer) error { return rolloutText(w, row) }
		return err
	case "artifact":
		r.Record = map[string]string{"digest": r.ID}
		r.text = func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "configuration %s, kept encrypted\n", r.ID)
			return err
		}
	default:
		return a.fillFromPlan(ctx, st, r)
	}
	return nil
}

// fillFromPlan reads approvals and drift records, which are found beside their plan or machine.
func (a *app) fillFromPlan(ctx context.Context, st *store.Store, r *record) error {
	if r.Kind == "approval" {
		plans, err := st.Plans(ctx, store.PlanFilter{})
		if err != nil {
			return err
		}
		for _, v := range plans {
			for _, ap := range v.Approvals {
				if ap.ID == r.ID {
					r.Record, r.Next = ap, "clew show "+ap.Plan
					r.text = func(w io.Writer) error { return approvalText(w, ap) }
					return nil
				}
			}
		}
	}
	if r.Kind == "drift" {
		machines, err := st.Machines(ctx)
		if err != nil {
			return err
		}
		for _, m := range machines {
			drifts, err := st.Drifts(ctx, m.ID)
			if err != nil {
				return err
			}
			for _, d := range drifts {
				if d.ID == r.ID {
					r.Record, r.Next = driftView{d, m.Name}, "clew machine diff "+m.Name
					r.text = func(w io.Writer) error { return driftText(w, m.Name, d) }
					return nil
				}
			}
		}
	}
	return fmt.Errorf("%s %s cannot be shown", r.Kind, r.ID)
}

// driftView is a drift record with its machine's name.
type driftView struct {
	dispatch.Drift
	Machine string `json:"machine"`
}

// entryRecord shows one entry of a timeline.
func (a *app) entryRecord(ctx context.Context, st *store.Store, word string, revision int64) (record, error) {
	scope, err := a.scopeOf(ctx, st, word)
	if err != nil {
		return record{}, err
	}
	e, err := st.Entry(ctx, scope, revision)
	if errors.Is(err, store.ErrNotFound) {
		return record{}, withNext(err, "clew log %s", first(scope.ID, "--all"))
	}
	if err != nil {
		return record{}, err
	}
	names, err := machineNames(ctx, st)
	if err != nil {
		return record{}, err
	}
	l := teller{names}.line(e)
	return record{
		Kind: "entry", ID: fmt.Sprintf("%s@%d", first(scope.ID, scope.Kind), revision), Record: l, Entries: []logLine{},
		text: func(w io.Writer) error { return a.entryText(w, l) },
	}, nil
}

// scopeOf finds the timeline that a word means: "installation", kind/id, or a record with a timeline of its own.
func (a *app) scopeOf(ctx context.Context, st *store.Store, word string) (ledger.Scope, error) {
	if word == ledger.Installation || word == ledger.Installation+"/" {
		return ledger.Scope{Kind: ledger.Installation}, nil
	}
	if _, id, ok := strings.Cut(word, "/"); ok {
		word = id
	}
	kind, id, err := a.find(ctx, st, word)
	if err != nil {
		return ledger.Scope{}, err
	}
	switch kind {
	case "machine", "identity", "instance", "rollout":
		return ledger.Scope{Kind: kind, ID: id}, nil
	}
	return ledger.Scope{}, usagef("a%s %s has no timeline of its own; its entries are on its machine's", n(kind), kind)
}
