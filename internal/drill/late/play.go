package late

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/talos"
)

// worker is one node of a lab, with what it ran at first.
type worker struct {
	lab    *lab.Lab
	node   *lab.Node
	config *talos.Config
	first  []byte
}

var sends atomic.Int64 // numbers them, so that no two configurations are alike

// limit bounds what has to happen without a partition.
const limit = time.Minute

// play carries out one trial. The node is left as it was, but for its configuration.
func (w *worker) play(ctx context.Context, t Trial) Result {
	r := Result{Trial: t}
	r.Err = w.try(ctx, t, &r)
	heal, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if err := w.order(heal, "heal"); err != nil && r.Err == nil {
		r.Err = err
	}
	if err := w.node.Fault(heal, lab.Faults{}); err != nil && r.Err == nil {
		r.Err = err
	}
	return r
}

func (w *worker) try(ctx context.Context, t Trial, r *Result) error {
	if err := w.node.Fault(ctx, lab.Faults{DelayBefore: t.slow()}); err != nil {
		return err
	}
	s, err := w.sender(ctx, t)
	if err != nil {
		return err
	}
	defer s.close()
	config := w.filled(t.Size)
	sum := sha256.Sum256(config)
	r.Bytes = len(config)
	journal, err := w.node.Applies()
	if err != nil {
		return err
	}
	healed, err := w.partition(ctx, t, len(journal), func(ctx context.Context) { s.send(ctx, config) })
	if err != nil {
		return err
	}
	until := healed.Add(t.horizon())
	if t.Account {
		at, err := w.account(ctx, t, s.attempt, r)
		if err != nil {
			return err
		}
		if !at.IsZero() {
			r.Accounted = at.Sub(healed)
			if least := at.Add(dispatch.LateReadsApart + t.slow()); least.After(until) {
				until = least
			}
		}
	}
	if err := wait(ctx, time.Until(until)); err != nil {
		return err
	}
	return w.landings(hex.EncodeToString(sum[:]), len(journal), healed, r)
}

// partition cuts the node off, sends, and heals when the partition has lasted long enough. It returns the time of the heal.
func (w *worker) partition(ctx context.Context, t Trial, journal int, send func(context.Context)) (time.Time, error) {
	if !t.Entered {
		if err := w.order(ctx, "cut"); err != nil {
			return time.Time{}, err
		}
	}
	began := time.Now()
	sendCtx, cancel := context.WithDeadline(ctx, began.Add(t.deadline()))
	defer cancel()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		send(sendCtx)
	}()
	if t.Entered {
		if err := w.entered(ctx, journal); err != nil {
			return time.Time{}, err
		}
		if err := w.order(ctx, "cut"); err != nil {
			return time.Time{}, err
		}
	}
	if err := wait(ctx, time.Until(began.Add(t.Split))); err != nil {
		return time.Time{}, err
	}
	<-sent // its deadline lies within the partition
	healed := time.Now()
	return healed, w.order(ctx, "heal")
}

// entered waits until the request has come in at the node.
func (w *worker) entered(ctx context.Context, journal int) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		all, err := w.node.Applies()
		if err != nil {
			return err
		}
		for _, a := range all[min(journal, len(all)):] {
			if a.Entry == "entered" {
				return nil
			}
		}
		if err := wait(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("the request did not come in: %w", err)
		}
	}
}

// landings reads from the node's journal when the bytes of the trial landed.
func (w *worker) landings(sum string, journal int, healed time.Time, r *Result) error {
	all, err := w.node.Applies()
	if err != nil {
		return err
	}
	for _, a := range all[min(journal, len(all)):] {
		if a.Entry == "landed" && strings.EqualFold(a.SHA256, sum) {
			r.Landings = append(r.Landings, a.Time.Sub(healed))
		}
	}
	return nil
}

func (w *worker) order(ctx context.Context, kind string) error {
	_, err := w.lab.Do(ctx, lab.Order{Target: lab.Client + ":" + w.node.Name(), Kind: kind})
	return err
}

// filled is what the node ran at first, with a comment that no other send has, filled up to a size.
func (w *worker) filled(size int) []byte {
	b := fmt.Appendf(bytes.Clone(w.first), "\n# send %d\n", sends.Add(1))
	for len(b) < size {
		b = append(b, "# "+strings.Repeat("x", min(72, max(1, size-len(b)-3)))+"\n"...)
	}
	return b
}

// wait waits for a time that the measurement itself is about.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
