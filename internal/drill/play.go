package drill

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/lab/pgserver"
)

// playGroup plays the rows of a group one after the other, on workers that it has to itself.
func (r *run) playGroup(ctx context.Context, g group) (err error) {
	if err := g.mountable(); err != nil {
		return err
	}
	n, own := g.machines()
	p := r.pools[g.net]
	if own {
		l, err := r.labUp(ctx, "lab-"+g.name(), g.net, n)
		if err != nil {
			return err
		}
		r.secrets.ofLab(l)
		defer func() { r.warn(l.Down(context.WithoutCancel(ctx))) }()
		p = newPool(l)
	}
	nodes, err := p.take(ctx, n)
	if err != nil {
		return err
	}
	ok := true
	defer func() {
		for _, node := range nodes {
			p.give(node, ok)
		}
	}()
	log, err := r.transcript(g)
	if err != nil {
		return err
	}
	for _, row := range g.rows {
		if ctx.Err() != nil {
			break // what did not run is missing from the cells, and the run is no evidence
		}
		r.add(r.playRow(ctx, row, g, p.lab, nodes, log))
		for _, node := range nodes {
			if err := mend(ctx, p.lab, node); err != nil {
				ok = false
				log.note("%s could not be mended: %v", node.Name(), err)
			}
		}
	}
	return nil
}

func (r *run) transcript(g group) (*transcript, error) {
	f, err := os.OpenFile(filepath.Join(r.out, transcriptsDir, g.name()+".txt"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	t := &transcript{file: f, hide: r.hide}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files[g.name()] = t
	return t, nil
}

// rowLimit bounds a row beyond the time that it says it takes: a script that waits for what it holds itself ends there.
const rowLimit = 5 * time.Minute

// playRow plays one row.
func (r *run) playRow(ctx context.Context, row Row, g group, l *lab.Lab, nodes []*lab.Node, log *transcript) Cell {
	ctx, cancel := context.WithTimeout(ctx, row.Takes+rowLimit)
	defer cancel()
	s := &Stage{Row: row, Store: g.store, Net: g.net, ctx: ctx, run: r, lab: l, real: r.o.Real, log: log}
	s.dir = filepath.Join(r.work, s.name())
	failed := func(err error) Cell {
		return Cell{
			Row: row.ID, Control: row.Control, Store: g.store, Net: g.net, Expectation: row.Expect,
			Verdict: Errored, Reason: clean(r.hide(err.Error())),
		}
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return failed(err)
	}
	if g.store == config.Postgres {
		server, stop, err := r.serverFor(ctx, row)
		if err != nil {
			return failed(err)
		}
		defer stop()
		s.server = server
	}
	if err := s.meet(nodes); err != nil {
		return failed(err)
	}
	return s.play()
}

// meet makes the row's machines, as they are when it begins.
func (s *Stage) meet(nodes []*lab.Node) error {
	if s.real != nil {
		return s.begin(&Machine{real: s.real})
	}
	for _, node := range nodes[:s.Row.Machines] {
		m := &Machine{Node: node}
		all, err := node.Applies()
		if err != nil {
			return err
		}
		m.journal = len(all)
		if err := s.begin(m); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stage) begin(m *Machine) error {
	before, err := s.readNode(m)
	m.before, m.beforeVersion = before.Active, before.ActiveVersion
	s.machines = append(s.machines, m)
	return err
}

// serverFor is the run's server, or one of the row's own.
func (r *run) serverFor(ctx context.Context, row Row) (*pgserver.Server, func(), error) {
	if !row.OwnServer {
		return r.pg, func() {}, nil
	}
	server, err := r.startServer(ctx)
	if err != nil {
		return nil, nil, err
	}
	return server, func() { r.warn(server.Stop()) }, nil
}

// tearDown ends what groups shared. It runs also after an interrupt.
func (r *run) tearDown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*patience)
	defer cancel()
	var errs error
	for _, p := range r.pools {
		errs = errors.Join(errs, p.lab.Down(ctx))
	}
	if r.pg != nil {
		errs = errors.Join(errs, r.pg.Stop())
	}
	for _, t := range r.files {
		errs = errors.Join(errs, t.close())
	}
	return errors.Join(errs, r.injections.file.Close())
}
