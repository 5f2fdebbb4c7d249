package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/executor"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/store"
)

// defaultWait is how long a command keeps looking for evidence on an operation that stayed unresolved.
const defaultWait = 10 * time.Minute

func newDispatchCommand(a *app) *cobra.Command {
	var limit int
	wait := defaultWait
	c := &cobra.Command{
		Use:   "dispatch PLAN…",
		Short: "Send approved plans",
		Long: `Reads each machine, commits the plan, records the attempt, sends once and verifies. What stays unresolved is looked at
again until --wait ends; leaving with Ctrl-C is safe, and clew settle goes on later.

Exit code: 0 all completed, 3 refused or cancelled, 4 unresolved, 5 failed or rejected by the node, 1 could not be done. Of
several plans the gravest counts: 4, then 5, 1, 3.`,
		GroupID:           groupTalos,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completePlans,
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 1 || limit > 1000 {
				return usagef("--limit %d: between 1 and 1000", limit)
			}
			return a.dispatchPlans(c.Context(), args, limit, wait)
		},
	}
	c.Flags().IntVar(&limit, "limit", 1, "how many at once")
	c.Flags().Var(duration{value: &wait, zero: true}, "wait", "how long to keep looking for evidence while unresolved")
	a.bindTalosconfig(c)
	return c
}

// outcome is what became of one plan.
type outcome struct {
	executor.Result
	Error *report `json:"error,omitempty"`

	err error
}

func (a *app) dispatchPlans(ctx context.Context, words []string, limit int, wait time.Duration) error {
	st, err := a.mustExist(ctx)
	if err != nil {
		return err
	}
	var views []planView
	for _, w := range words {
		v, err := a.loadPlan(ctx, st, w)
		if err != nil {
			return err
		}
		views = append(views, v)
	}
	e, err := a.operatingExecutor(ctx, st)
	if err != nil {
		return err
	}
	outcomes := make([]outcome, len(views))
	slots := make(chan struct{}, limit)
	var wg sync.WaitGroup
	for i, v := range views {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			outcomes[i] = a.dispatchOne(ctx, e, v, wait)
		})
	}
	wg.Wait()
	return a.report(outcomes)
}

// operatingExecutor is this process's executor, for a person who may operate, with what stopped executors left taken
// over.
func (a *app) operatingExecutor(ctx context.Context, st *store.Store) (*executor.Executor, error) {
	who, err := a.who(ctx, st, store.RoleOperator)
	if err != nil {
		return nil, err
	}
	e, err := a.theExecutor(ctx, st)
	if err != nil {
		return nil, err
	}
	e.Who = actor(who)
	return e, a.takeOver(ctx, e)
}

// dispatchOne runs one plan. An interrupt while it runs is not an error of the operation: it stays what it is.
func (a *app) dispatchOne(ctx context.Context, e *executor.Executor, v planView, wait time.Duration) outcome {
	if ctx.Err() != nil {
		return outcome{Result: executor.Result{Plan: v.Plan.ID, Machine: v.Machine}, err: ctx.Err()}
	}
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		a.note("leaving: what was sent is still being recorded (a second Ctrl-C ends at once; clew settle finds out later)")
	})
	defer func() {
		if !stop() {
			<-told
		}
	}()
	var res executor.Result
	var err error
	if v.Plan.Kind == dispatch.KindAdopt {
		res, err = e.Adopt(ctx, a.wired.store, v.Plan.ID)
	} else {
		res, err = e.Dispatch(ctx, v.Plan.ID, wait)
	}
	if err != nil && res.Operation == "" {
		if r := describe(err); r.Kind == "failed" && r.Next == "" {
			err = withNext(err, "clew machine show %s --refresh", v.Machine) // nothing came into being: does the machine answer?
		}
	}
	return a.left(ctx, res, err)
}

// left is the outcome of an operation that the person may have walked away from. An interrupt while it is looked at is no
// error of it: it stays what the store says.
func (a *app) left(ctx context.Context, res executor.Result, err error) outcome {
	if ctx.Err() == nil || res.Operation == "" {
		return outcome{Result: res, err: err}
	}
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	v, rerr := a.wired.store.Operation(reading, res.Operation)
	if rerr != nil {
		return outcome{Result: res, err: &refusal.Unknown{What: res.Operation + " has ended", Err: rerr, Remedy: "clew settle " + res.Operation}}
	}
	res.Plan, res.Machine, res.State, res.Reason = v.Plan.ID, v.Machine.Name, v.Operation.State, v.Operation.Reason
	if res.State.Holding() {
		a.note("leaving is safe: operation %s is %s; later: clew settle %s", res.Operation, res.State, res.Operation)
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return outcome{Result: res, err: err}
}

// report shows outcomes and picks the exit code.
func (a *app) report(outcomes []outcome) error {
	code := exitDone
	for i := range outcomes {
		o := &outcomes[i]
		if o.err != nil {
			r := describe(o.err)
			o.Error = &r
		}
		code = graver(code, o.code())
		a.saw(first(o.Operation, o.Plan))
	}
	if len(outcomes) == 1 && outcomes[0].Operation == "" && outcomes[0].err != nil {
		return outcomes[0].err // nothing came into being: the error says it all
	}
	err := a.emit(outcomes, func(w io.Writer) error {
		for _, o := range outcomes {
			a.outcomeText(w, o)
		}
		return nil
	})
	if err == nil && code != exitDone {
		err = exitWith(code)
	}
	return err
}

// code is the exit code of one outcome.
func (o outcome) code() int {
	if r, refused := refusal.As(o.err); refused && r.Comparison == 7 {
		return exitRefused // the operation is another executor's: its state is no outcome of this one
	}
	switch o.State {
	case dispatch.Completed:
		return exitDone
	case dispatch.Cancelled:
		return exitRefused
	case dispatch.Failed, dispatch.Rejected:
		return exitNotHeld
	case dispatch.Committed, dispatch.Sending, dispatch.Verifying, dispatch.Unresolved:
		return exitUnresolved
	case dispatch.Absent:
	}
	if o.err != nil {
		return exitCode(o.err)
	}
	return exitFailure
}

// graver is the exit code that matters more: what may still happen before what ended badly, before what was not done.
func graver(a, b int) int {
	for _, c := range []int{exitUnresolved, exitNotHeld, exitFailure, exitRefused, exitNeedsYou} {
		if a == c || b == c {
			return c
		}
	}
	return exitDone
}

// outcomeText is one outcome on screen: what happened, what it rests on, and what to type next.
func (a *app) outcomeText(w io.Writer, o outcome) {
	subject := fmt.Sprintf("%s %s on %s", first(o.Operation, o.Plan), stateWord(o.State), o.Machine)
	reason := o.Reason
	next := o.Next
	if o.Error != nil {
		reason = o.Error.screen()
		if o.Error.Next != "" && next == "" {
			next = o.Error.Next
		}
	}
	switch o.State {
	case dispatch.Completed:
		fmt.Fprintln(w, a.paint(styleGreen, printable(subject)))
		return
	case dispatch.Rejected:
		reason = rejection(reason)
	case dispatch.Absent, dispatch.Committed, dispatch.Sending, dispatch.Verifying, dispatch.Unresolved, dispatch.Failed, dispatch.Cancelled:
	}
	line := withReason(subject, reason)
	fmt.Fprintln(w, a.paint(styleYellow, printable(line)))
	for _, m := range o.Missing {
		fmt.Fprintf(w, "  missing: %s\n", printable(m))
	}
	if o.State.Holding() && next == "" {
		next = "clew settle " + o.Operation
	}
	fmt.Fprint(w, nextLines("  ", next))
}

func stateWord(s dispatch.State) string {
	if s == dispatch.Absent {
		return "not dispatched"
	}
	return string(s)
}

func first(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}
