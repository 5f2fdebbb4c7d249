package store

import (
	"fmt"
	"time"

	"github.com/clewops/clew/internal/ledger"
)

// clockTolerance is how far the clock may be behind the last entry before a commitment or an attempt fails.
const clockTolerance = time.Second

// ClockBehind says that the store's clock is behind what was already recorded: ages cannot be trusted. It is a failure,
// not a refusal: it passes by itself when the clock catches up.
type ClockBehind struct {
	Scope ledger.Scope
	Now   time.Time
	Last  time.Time // of the scope's last entry
}

// Error says by how much, and what ends it.
func (e *ClockBehind) Error() string {
	return fmt.Sprintf("the store's clock is %s behind the last entry of %s: set it right or wait until it catches up; "+
		"where the step was meant, a recovery-admin records it with clew admin recovery clock",
		e.Last.Sub(e.Now).Round(time.Millisecond), e.Scope)
}

// checkClock fails when the transaction's time is more than a second before the last entry of one of the machines or of
// the installation, in the same clock era. A recorded step begins a new era.
func (tx *Tx) checkClock(machines []string) error {
	i, err := tx.installation()
	if err != nil {
		return err
	}
	heads := []*lockedHead{i.last}
	for _, id := range machines {
		if h := tx.known(machineScope(id)); h != nil {
			heads = append(heads, h)
		}
	}
	for _, h := range heads {
		last := fromMicros(h.at)
		if h.era == i.era && last.Sub(tx.Now()) > clockTolerance {
			return &ClockBehind{Scope: h.Scope, Now: tx.Now(), Last: last}
		}
	}
	return nil
}
