package late

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/talos"
)

// Limits of gathering evidence: of one look at the sockets and of one reading, as an executor has them, and of it all.
const (
	lookLimit = 20 * time.Second
	readLimit = 10 * time.Second
	gatherFor = 150 * time.Second
)

// account gathers evidence until it is complete and returns when it was, zero when it never was.
func (w *worker) account(ctx context.Context, t Trial, a dispatch.Attempt, r *Result) (time.Time, error) {
	until := time.Now().Add(gatherFor)
	for time.Now().Before(until) {
		done, missing, err := w.look(ctx, t, a, r)
		if err != nil {
			return time.Time{}, err
		}
		if r.Missing = missing; done {
			return time.Now(), nil
		}
		if err := wait(ctx, 200*time.Millisecond); err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, nil
}

// look is one round of what an executor does: the hops' sockets, then two readings.
func (w *worker) look(ctx context.Context, t Trial, a dispatch.Attempt, r *Result) (done bool, missing string, err error) {
	lookCtx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	v, err := talos.CannotArriveWithout(lookCtx, w.config, w.target(t), a, t.Without)
	if err != nil {
		return false, err.Error(), ctx.Err() // a hop that does not answer yet may do so soon
	}
	if !v.Holds {
		return false, v.Missing, nil
	}
	if t.Without == LateReads {
		return true, "", nil
	}
	if t.Without != "" {
		if r.NotMet, err = notMet(v.Evidence, t.Without); err != nil {
			return false, "", err
		}
	}
	first, err := w.read(ctx, t)
	if err != nil {
		return false, err.Error(), ctx.Err()
	}
	if err := wait(ctx, dispatch.LateReadsApart); err != nil {
		return false, "", err
	}
	second, err := w.read(ctx, t)
	if err != nil {
		return false, err.Error(), ctx.Err()
	}
	if first.BootID != second.BootID || first.Active != second.Active || first.Persistent != second.Persistent {
		return false, "two readings on the route differ", nil
	}
	return true, "", nil
}

func (w *worker) read(ctx context.Context, t Trial) (dispatch.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	conn, err := talos.Dial(ctx, w.config, w.target(t), talos.Options{})
	if err != nil {
		return dispatch.Reading{}, err
	}
	defer conn.Abort()
	r, _, err := conn.Read(ctx)
	return r, err
}

// notMet says whether the evidence shows that a check did not hold in one of the two rounds that it rests on. A check that
// it does not name is an error: the control would have taken nothing away.
func notMet(evidence json.RawMessage, check string) (bool, error) {
	var e struct {
		Before []talos.Check `json:"before"`
		Rounds []struct {
			Checks []talos.Check `json:"checks"`
		} `json:"rounds"`
	}
	if err := json.Unmarshal(evidence, &e); err != nil {
		return false, err
	}
	checks := e.Before
	for _, r := range e.Rounds[max(0, len(e.Rounds)-2):] {
		checks = append(checks, r.Checks...)
	}
	found, failed := false, false
	for _, c := range checks {
		if c.Name == check {
			found = true
			failed = failed || !c.Holds
		}
	}
	if !found {
		return false, fmt.Errorf("the evidence has no check %q", check)
	}
	return failed, nil
}
