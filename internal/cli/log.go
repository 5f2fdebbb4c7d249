package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
)

// logOptions are the flags of clew log.
type logOptions struct {
	since  string
	by     string
	kinds  []string
	follow bool
	limit  int
	all    bool
}

func newLogCommand(a *app) *cobra.Command {
	var o logOptions
	c := &cobra.Command{
		Use:   "log [WHAT]",
		Short: "What was done, by whom and when",
		Long: `Lists entries of the ledger, oldest first: of everything, of a machine (NAME, node/NAME), or about a plan, an operation, an
approval, a drift record, a rollout or a person. Bookkeeping (beginnings of reads, executors' starts and ends, anchors) is
left out unless --all or --kind asks for it.

-o md writes a table for a post-mortem, with times in UTC; -o json has every entry whole.`,
		Example: `  clew log node/worker-1 --since 2h
  clew log op-4fz -o md
  clew log --kind refused --kind operation --follow`,
		GroupID:           groupDaily,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeRecords,
		RunE: func(c *cobra.Command, args []string) error {
			what := ""
			if len(args) == 1 {
				if what = args[0]; strings.TrimSpace(what) == "" {
					return usagef("WHAT is empty")
				}
			}
			o.kinds = splitLists(o.kinds)
			if o.limit < 0 {
				return usagef("--limit %d: 0 (no limit) or more", o.limit)
			}
			return a.log(c.Context(), what, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.since, "since", "", "2h, 7d, or a date with or without time")
	f.StringVar(&o.by, "by", "", "written by this identity or executor")
	f.StringArrayVar(&o.kinds, "kind", nil, "kind of entry or its beginning: operation, plan.approved, refused, drift, …")
	f.BoolVarP(&o.follow, "follow", "f", false, "go on with new entries until Ctrl-C")
	f.IntVar(&o.limit, "limit", 100, "the newest this many; 0 for all")
	f.BoolVar(&o.all, "all", false, "also bookkeeping")
	allowOutput(c, "md")
	return c
}

// bookkeeping are the kinds of entries that say nothing to who asks what happened.
var bookkeeping = []string{
	dispatch.EntryReadStarted, dispatch.EntryAnchored, dispatch.EntryInstanceStarted, dispatch.EntryInstanceEnded,
	dispatch.EntryRolloutTaken, dispatch.EntryRolloutFreed, dispatch.EntrySelected,
}

// query is what clew log looks for: what the store filters, and what is left to filter here.
type query struct {
	filter store.EntryFilter
	match  func(logLine) bool
	limit  int
}

func (a *app) log(ctx context.Context, what string, o logOptions) error {
	st, ok, err := a.openExisting(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return a.writeLog(what, []logLine{}, o)
	}
	q, err := a.query(ctx, st, what, o)
	if err != nil {
		return err
	}
	names, err := machineNames(ctx, st)
	if err != nil {
		return err
	}
	tell := teller{names}
	lines, last, err := q.run(ctx, st, tell)
	if err != nil {
		return err
	}
	if err := a.writeLog(what, lines, o); err != nil || !o.follow {
		return err
	}
	return a.followLog(ctx, st, tell, q, last)
}

// query turns flags into a query.
func (a *app) query(ctx context.Context, st *store.Store, what string, o logOptions) (query, error) {
	q := query{filter: store.EntryFilter{By: o.by}, limit: o.limit}
	if o.since != "" {
		now, err := st.Now(ctx)
		if err != nil {
			return q, err
		}
		if q.filter.Since, err = parseMoment(o.since, now); err != nil {
			return q, usagef("--since: %v", err)
		}
	}
	about := func(logLine) bool { return true }
	if what != "" {
		var err error
		if about, err = a.aboutWhat(ctx, st, what, &q.filter); err != nil {
			return q, err
		}
	}
	q.match = func(l logLine) bool {
		if len(o.kinds) > 0 {
			if !slices.ContainsFunc(o.kinds, func(k string) bool { return strings.HasPrefix(l.Kind, k) }) {
				return false
			}
		} else if !o.all && slices.Contains(bookkeeping, l.Kind) {
			return false
		}
		return about(l)
	}
	return q, nil
}

// aboutWhat narrows the store's filter to what WHAT is about, and returns the rest of the condition.
func (a *app) aboutWhat(ctx context.Context, st *store.Store, what string, f *store.EntryFilter) (func(logLine) bool, error) {
	everything := func(logLine) bool { return true }
	if strings.HasPrefix(what, "node/") || strings.HasPrefix(what, "talos/") {
		m, err := a.machineNamed(ctx, st, what)
		f.Scope = &ledger.Scope{Kind: ledger.Machine, ID: m.ID}
		return everything, err
	}
	kind, id, err := a.find(ctx, st, what)
	if err != nil {
		return nil, err
	}
	a.saw(id)
	switch kind {
	case "machine":
		f.Scope = &ledger.Scope{Kind: ledger.Machine, ID: id}
		return everything, nil
	case "identity", "instance":
		scope := kind + "/" + id
		return func(l logLine) bool { return l.Scope == scope || l.Actor.Identity == id || l.Actor.Instance == id }, nil
	case "operation":
		v, err := st.Operation(ctx, id)
		if err != nil {
			return nil, err
		}
		f.Scope = &ledger.Scope{Kind: ledger.Machine, ID: v.Operation.Machine}
		return aboutAny(id, v.Operation.Plan), nil
	case "plan":
		v, err := st.Plan(ctx, id)
		if err != nil {
			return nil, err
		}
		f.Scope = &ledger.Scope{Kind: ledger.Machine, ID: v.Plan.Machine}
		if v.Operation != nil {
			return aboutAny(id, v.Operation.ID), nil
		}
	}
	return aboutAny(id), nil
}

// aboutAny matches entries about one of the records.
func aboutAny(ids ...string) func(logLine) bool {
	return func(l logLine) bool {
		for _, id := range ids {
			if slices.Contains(l.Refs, id) || strings.HasSuffix(l.Scope, "/"+id) ||
				slices.ContainsFunc(l.Links, func(k ledger.Link) bool { return k.ID == id }) {
				return true
			}
		}
		return false
	}
}

// run reads the newest entries that match, oldest first. Pages grow until enough match or all were read.
func (q query) run(ctx context.Context, st *store.Store, tell teller) ([]logLine, *store.Cursor, error) {
	f := q.filter
	f.Newest, f.Limit = true, 4*q.limit
	for {
		entries, err := st.Entries(ctx, f)
		if err != nil {
			return nil, nil, err
		}
		lines := q.pick(entries, tell)
		if q.limit == 0 || len(lines) >= q.limit || len(entries) < f.Limit {
			if q.limit > 0 && len(lines) > q.limit {
				lines = lines[len(lines)-q.limit:]
			}
			var last *store.Cursor
			if len(entries) > 0 {
				c := store.CursorOf(entries[len(entries)-1])
				last = &c
			}
			return lines, last, nil
		}
		f.Limit *= 4
	}
}

func (q query) pick(entries []ledger.Entry, tell teller) []logLine {
	lines := []logLine{}
	for _, e := range entries {
		if l := tell.line(e); q.match(l) {
			lines = append(lines, l)
		}
	}
	return lines
}

// followEvery is how often a followed log looks for new entries.
const followEvery = 500 * time.Millisecond

// followLog prints new entries until the user leaves, which is how following ends and no failure.
func (a *app) followLog(ctx context.Context, st *store.Store, tell teller, q query, last *store.Cursor) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	f := q.filter
	for {
		f.After = last
		entries, err := st.Entries(ctx, f)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			c := store.CursorOf(entries[len(entries)-1])
			last = &c
		}
		for _, l := range q.pick(entries, tell) {
			if err := a.writeLine(l); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
