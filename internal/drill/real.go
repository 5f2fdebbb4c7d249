package drill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/refusal"
	"github.com/clewops/clew/internal/talos"
)

// NetTalos stands for the links in cells that were played on a machine of the user's own.
const NetTalos lab.LinkMode = "talos"

// Real is a Talos worker of the user's own. Its rows change one node label; when they are over, or are interrupted, its
// original bytes are put back.
type Real struct {
	Talosconfig string
	Context     string // of the talosconfig; "" is its current one
	Address     string
	Route       dispatch.Route
	AllowStage  bool // plans bind the stage that the node shows, ready or not, instead of "running"

	config   *talos.Config
	name     string
	stage    string
	original []byte
}

// realTime bounds one look at the machine, and restoreTime the time that putting its bytes back may take.
const (
	realTime    = 30 * time.Second
	restoreTime = 2 * time.Minute
)

// learn reads the machine, and refuses one that rows must not be played on. It changes nothing.
func (x *Real) learn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, realTime)
	defer cancel()
	var err error
	if x.config, err = talos.LoadConfig(x.Talosconfig, x.Context); err != nil {
		return err
	}
	if x.Route == "via" {
		if len(x.config.Endpoints()) == 0 {
			return fmt.Errorf("%s names no endpoint: say --route via:ENDPOINT", x.Talosconfig)
		}
		x.Route = dispatch.Via(x.config.Endpoints()[0])
	}
	conn, err := talos.Dial(ctx, x.config, talos.Target{Address: x.Address, Route: x.Route}, talos.Options{})
	if err != nil {
		return fmt.Errorf("reaching %s (%s): %w", x.Address, x.Route, err)
	}
	defer conn.Abort()
	r, running, err := conn.Read(ctx)
	if err != nil {
		return fmt.Errorf("reading %s: %w", x.Address, err)
	}
	x.name, x.stage, x.original = r.HostName, r.Stage, bytes.Clone(running.Reveal())
	if x.name == "" {
		x.name = x.Address
	}
	return x.refuse(r)
}

// refuse says why no row is played on such a machine.
func (x *Real) refuse(r dispatch.Reading) error {
	no := func(code, why, remedy string) error { return refusal.New("drill", code, x.name+" "+why, remedy) }
	switch {
	case r.Role != dispatch.Worker:
		return no("control-plane", "is no worker: a drill changes nothing on a control plane", "name a worker with --node")
	case r.Omni:
		return no("omni", "is managed by Omni: it is changed there", "")
	case !r.Quiescent():
		return no("not-quiescent", "has a staged or tried change pending, which an apply would undo: its original bytes could not be put back", "wait until it is over, or finish it")
	case r.InTransition() || r.Stage == "maintenance":
		return no("stage", "is in stage "+r.Stage, "wait until it runs")
	case r.Stage != "running" && !x.AllowStage:
		return no("stage", "is in stage "+r.Stage+", and plans demand running", "where that is how this node is: --allow-stage")
	}
	return nil
}

// RealRows are the rows that need no fault injection and no crash, and one machine. What only a lab's node could tell is
// not expected of a machine of the user's own.
func RealRows(rows []Row) []Row {
	var fit []Row
	for _, r := range rows {
		r = r.withDefaults()
		if r.Needs != (Needs{}) || r.Machines > 1 || r.OwnLab || r.OwnServer || r.Bare || r.Disk ||
			!slices.ContainsFunc(r.Nets, func(n lab.LinkMode) bool { return n == lab.LinksUserland || n == NetTalos }) {
			continue
		}
		r.Nets, r.Expect = []lab.LinkMode{NetTalos}, r.expectOn(NetTalos)
		fit = append(fit, r)
	}
	return fit
}

// expectOn is what the row expects over a net. A machine of the user's own keeps no journal: neither answers by code nor
// the landings of one plan can be read there, only how often its active configuration was written.
func (r Row) expectOn(net lab.LinkMode) string {
	if net != NetTalos {
		return r.Expect
	}
	var kept []string
	for part := range strings.SplitSeq(r.Expect, ";") {
		part = strings.TrimSpace(part)
		c, err := parseClause(part)
		if err != nil || (c.name != "answered" && !strings.HasSuffix(c.name, ".landings")) {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "; ")
}

// labOnly ends the script where it needs what only a lab has; on a machine of the user's own the cell is skipped.
func (s *Stage) labOnly(what string) {
	if s.real != nil {
		panic(stopped{&lab.NotOfferedError{Reason: "on a machine of the user's own, " + what}})
	}
}

// playReal plays the groups one after the other, and then puts the machine's bytes back, whatever happened.
func (r *run) playReal(ctx context.Context, groups []group) (err error) {
	x := r.o.Real
	r.secrets.ofReal(x)
	defer func() {
		r.tell("putting the original configuration of %s back", x.name)
		if rerr := x.restore(ctx); rerr != nil {
			err = errors.Join(err, fmt.Errorf("%s does NOT run its original configuration: %w: compare it with your own copy, and apply that with talosctl", x.name, rerr))
			return
		}
		r.tell("%s runs its original configuration", x.name)
	}()
	for _, g := range groups {
		log, err := r.transcript(g)
		if err != nil {
			return err
		}
		for _, row := range g.rows {
			if ctx.Err() != nil {
				return nil // what did not run is missing, and the run says so
			}
			r.add(r.playRow(ctx, row, g, nil, nil, log))
		}
	}
	return nil
}

func (r *run) tell(format string, args ...any) {
	if r.o.Warn != nil {
		fmt.Fprintln(r.o.Warn, r.hide(fmt.Sprintf(format, args...)))
	}
}

// restore puts the original bytes back and returns when two readings, a while apart, show them in both resources: what was
// under way when the drill ended may have landed in between. It heeds no interrupt.
func (x *Real) restore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTime)
	defer cancel()
	seen := 0
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		same, err := x.runsOriginal(ctx)
		switch {
		case err != nil:
			seen = 0
		case same:
			if seen++; seen == 2 {
				return nil
			}
		default:
			seen = 0
			err = x.apply(ctx, x.original)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// runsOriginal says whether the active bytes are the original ones, and the persistent ones too where there are any.
func (x *Real) runsOriginal(ctx context.Context) (same bool, err error) {
	err = x.with(ctx, func(ctx context.Context, c *client.Client) error {
		active, _, err := configBytes(ctx, c, configres.ActiveID)
		if err != nil {
			return err
		}
		persistent, _, err := configBytes(ctx, c, configres.PersistentID)
		same = bytes.Equal(active, x.original) && (persistent == nil || bytes.Equal(persistent, x.original))
		return err
	})
	return same, err
}

func (x *Real) apply(ctx context.Context, config []byte) error {
	return x.with(ctx, func(ctx context.Context, c *client.Client) error {
		_, err := c.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Data: config, Mode: machine.ApplyConfigurationRequest_NO_REBOOT})
		return err
	})
}

// with calls the machine with a client of the drill's own.
func (x *Real) with(ctx context.Context, f func(ctx context.Context, c *client.Client) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, realTime)
	defer cancel()
	at := x.Address
	if endpoint := x.Route.Endpoint(); endpoint != "" {
		at = endpoint
	}
	options := []client.OptionFunc{client.WithConfigFromFile(x.Talosconfig), client.WithEndpoints(at)}
	if x.Context != "" {
		options = append(options, client.WithContextName(x.Context))
	}
	c, err := client.New(ctx, options...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if at != x.Address {
		ctx = client.WithNode(ctx, x.Address)
	}
	return f(ctx, c)
}

// writtenSince is how often the machine's active configuration was written since the row began, by its own counter.
func (s *Stage) writtenSince(m *Machine, now NodeReading) string {
	was, err := strconv.Atoi(m.beforeVersion)
	s.must(err, "reading a version of %s", m.Name())
	is, err := strconv.Atoi(now.ActiveVersion)
	s.must(err, "reading a version of %s", m.Name())
	if is < was {
		s.Fail("%s was booted meanwhile: its counters began anew", m.Name())
	}
	return strconv.Itoa(is - was)
}

// ofReal adds the secrets of a machine of the user's own, and of the talosconfig that reaches it.
func (s *secrets) ofReal(x *Real) {
	s.ofConfiguration(x.original)
	s.ofTalosconfig(x.Talosconfig)
}
