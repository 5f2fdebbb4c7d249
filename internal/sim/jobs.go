package sim

import (
	"context"
	"fmt"
	"strconv"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/executor"
	"github.com/clewops/clew/internal/store"
)

// processCommands start and end processes, and give them what executors do: real executors, step by step.
var processCommands = map[string]command{
	// start PROCESS [HOST]
	"start": {least: 1, most: 2, do: func(s *Sim, a args) (string, error) {
		if _, err := a.proc(0); err == nil {
			return "", misuse("%s was started before", a.words[0])
		}
		host := a.word(1)
		if host == "" {
			host = desk
		}
		if s.place.dirs[host] == "" {
			return "", misuse("no host is called %s", host)
		}
		p, err := s.start(a.words[0], host)
		if err != nil {
			return "", err
		}
		s.procs = append(s.procs, p)
		s.names[p.id] = p.name
		return "started", nil
	}},
	// dispatch PROCESS PLAN [wait=30s]
	"dispatch": {least: 2, most: 2, options: []string{"wait"}, do: func(s *Sim, a args) (string, error) {
		return job(s, a, func(ctx context.Context, p *proc, id string) (executor.Result, error) {
			return p.ex.Dispatch(ctx, id, a.duration("wait", 0))
		})
	}},
	// adopt PROCESS PLAN
	"adopt": {least: 2, most: 2, do: func(s *Sim, a args) (string, error) {
		return job(s, a, func(ctx context.Context, p *proc, id string) (executor.Result, error) {
			return p.ex.Adopt(ctx, &steps{p}, id)
		})
	}},
	// settle PROCESS OPERATION [wait=30s] [retry=] [takeover=] [judge=ada] [route-gone=]
	"settle": {least: 2, most: 2, options: []string{"wait", "retry", "takeover", "judge", "route-gone"}, do: func(s *Sim, a args) (string, error) {
		o := executor.SettleOptions{Wait: a.duration("wait", 0), Retry: a.has("retry"), Takeover: a.has("takeover")}
		if name := a.text("judge", ""); name != "" {
			o.Judge = &executor.Judge{Who: actor(name, store.RoleRecoveryAdmin), Reason: "looked at it", RouteGone: a.text("route-gone", "")}
		}
		return job(s, a, func(ctx context.Context, p *proc, id string) (executor.Result, error) {
			return p.ex.Settle(ctx, id, o)
		})
	}},
	// recover PROCESS: takes over what stopped processes owned
	"recover": {least: 1, most: 1, do: func(s *Sim, a args) (string, error) {
		p, err := a.idle(0)
		if err != nil {
			return "", err
		}
		p.run("recover", func(ctx context.Context) string {
			taken, err := p.ex.Recover(ctx)
			if err != nil {
				return s.say(err)
			}
			return fmt.Sprintf("took over %d", len(taken))
		})
		return p.where(), nil
	}},
	// step PROCESS [TIMES]
	"step": {quiet: true, least: 1, most: 2, do: func(s *Sim, a args) (string, error) {
		p, err := a.living(0)
		if err != nil {
			return "", err
		}
		times := 1
		if w := a.word(1); w != "" {
			if times, err = strconv.Atoi(w); err != nil {
				return "", misuse("%s is no number", w)
			}
		}
		return s.steps1(p, times)
	}},
	// crash PROCESS: it is killed, whatever it does
	"crash": {least: 1, most: 1, do: func(_ *Sim, a args) (string, error) {
		p, err := a.living(0)
		if err != nil {
			return "", err
		}
		return "crashed", p.crash()
	}},
	// end PROCESS: it ends in order, and says so
	"end": {least: 1, most: 1, do: func(s *Sim, a args) (string, error) {
		p, err := a.idle(0)
		if err != nil {
			return "", err
		}
		if err := s.store(p.host).EndInstance(background(), p.id); err != nil {
			return "", err
		}
		return "ended", p.crash()
	}},
	"suspend": {quiet: true, least: 1, most: 1, do: func(_ *Sim, a args) (string, error) {
		p, err := a.living(0)
		if err == nil {
			p.stopped = true
		}
		return "suspended", err
	}},
	"resume": {quiet: true, least: 1, most: 1, do: func(_ *Sim, a args) (string, error) {
		p, err := a.living(0)
		if err == nil {
			p.stopped = false
		}
		return "resumed", err
	}},
	// lose PROCESS kept|gone: the next COMMIT of the process is lost, after it took effect or before
	"lose": {quiet: true, least: 2, most: 2, do: func(_ *Sim, a args) (string, error) {
		p, err := a.living(0)
		if err != nil {
			return "", err
		}
		p.fault = map[string]fault{"kept": lostKept, "gone": lostGone}[a.words[1]]
		if p.fault == noFault {
			return "", misuse("lose PROCESS kept|gone")
		}
		return "ok", nil
	}},
	// fail PROCESS: its next call to the store fails
	"fail": {quiet: true, least: 1, most: 1, do: func(_ *Sim, a args) (string, error) {
		p, err := a.living(0)
		if err == nil {
			p.fault = failing
		}
		return "ok", err
	}},
}

// job gives an idle process something to do.
func job(s *Sim, a args, do func(ctx context.Context, p *proc, id string) (executor.Result, error)) (string, error) {
	p, err := a.idle(0)
	if err != nil {
		return "", err
	}
	id, err := a.record(1)
	if err != nil {
		return "", err
	}
	p.run(a.words[1], func(ctx context.Context) string {
		res, err := do(ctx, p, id)
		text := string(res.State)
		if res.State == dispatch.Absent {
			text = "nothing"
		}
		if err != nil {
			text += ", " + s.say(err)
		}
		return text
	})
	return p.where(), nil
}

// where is the step before which a process waits, or what came of its job.
func (p *proc) where() string {
	if p.job == "" {
		return "done: " + p.result
	}
	return "before: " + p.at
}

// steps1 lets a process take some steps; every invariant is checked after each.
func (s *Sim) steps1(p *proc, times int) (string, error) {
	switch {
	case p.stopped:
		return "", misuse("%s is suspended", p.name)
	case p.job == "":
		return "", misuse("%s has nothing to do", p.name)
	}
	for i := range times {
		if i > 0 {
			s.pass(tick)
		}
		p.step()
		if err := s.judge(); err != nil {
			return "", err
		}
		if p.job == "" || len(s.broken) > 0 {
			break
		}
	}
	return p.where(), nil
}
