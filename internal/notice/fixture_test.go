package notice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// at is a moment after noon, in seconds.
func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// shop is a cluster with three control planes, two workers, Flux, a shop with a web that bears one lost worker, and a
// batch that does not.
func shop(t testing.TB, clusters ...string) *graph.Version {
	t.Helper()
	var s graph.Specs
	found := graph.Origin{By: "a test"}
	for _, c := range clusters {
		node := func(name string, tolerates ...graph.Tolerance) {
			s.Nodes = append(s.Nodes, graph.NodeSpec{Name: graph.Name(name), Tolerates: tolerates, Origin: found})
		}
		edge := func(from, to string) {
			s.Edges = append(s.Edges, graph.EdgeSpec{From: graph.Name(from), To: graph.Name(to), Origin: found})
		}
		node("etcd/"+c, graph.Tolerance{Of: graph.Machine, Count: 1})
		node("apiserver/"+c, graph.Tolerance{Of: graph.Machine, Count: 2})
		node("flux/" + c)
		node("ks/" + c + "/flux-system/apps")
		node("deploy/"+c+"/shop/web", graph.Tolerance{Of: graph.Machine, Count: 1})
		node("deploy/" + c + "/shop/batch")
		node("svc/" + c + "/shop/web")
		for i := 1; i <= 3; i++ {
			n := fmt.Sprintf("node/%s/cp-%d", c, i)
			node(n)
			edge(n, "etcd/"+c)
			edge(n, "apiserver/"+c)
		}
		for i := 1; i <= 2; i++ {
			node(fmt.Sprintf("node/%s/w-%d", c, i))
			edge(fmt.Sprintf("node/%s/w-%d", c, i), "deploy/"+c+"/shop/web")
		}
		edge("node/"+c+"/w-1", "deploy/"+c+"/shop/batch")
		edge("etcd/"+c, "apiserver/"+c)
		edge("apiserver/"+c, "flux/"+c)
		edge("flux/"+c, "ks/"+c+"/flux-system/apps")
		edge("ks/"+c+"/flux-system/apps", "deploy/"+c+"/shop/web")
		edge("deploy/"+c+"/shop/web", "svc/"+c+"/shop/web")
	}
	v, left, problems := graph.Build(s)
	if len(left)+len(problems) > 0 {
		t.Fatal(left, problems)
	}
	return v
}

// upgrade is alice's upgrade of a control plane, with the API allowed to be away for a minute.
func upgrade(id, node string, start int) Act {
	n := graph.Name("node/prod/" + node)
	return Act{
		ID: id, Session: "s-alice", Who: "alice", Doing: "upgrades " + node, Kind: "talosctl upgrade", Class: act.Mutate,
		Targets: []graph.Target{{Node: n, Effect: graph.Down}}, Start: at(start),
		Default: []Expectation{
			{Symptom: graph.APIGap, For: time.Minute},
			{Symptom: graph.LeaderChange, For: 30 * time.Second},
			{Symptom: graph.NodeNotReady, For: 10 * time.Minute},
			{Symptom: graph.QuorumLoss, For: 5 * time.Minute},
		},
	}
}

const (
	api   = graph.Name("apiserver/prod")
	etcd  = graph.Name("etcd/prod")
	web   = graph.Name("deploy/prod/shop/web")
	batch = graph.Name("deploy/prod/shop/batch")
)

// gap is a report that the API does not answer; to -1 leaves it open.
func gap(id string, from, to int) Report { return seen(id, api, graph.APIGap, from, to) }

func seen(id string, n graph.Name, s graph.Symptom, from, to int) Report {
	r := Report{ID: id, Node: n, Symptom: s, From: at(from), Source: Probe, Detail: "refused"}
	if to >= 0 {
		r.To = at(to)
	}
	return r
}

// record keeps what a book says, as short lines.
type record struct {
	t testing.TB
	*Book
	log []string
	all []Entry
}

func newRecord(t testing.TB) *record { return &record{t: t, Book: NewBook(shop(t, "prod", "lab"))} }

func (r *record) note(entries []Entry) {
	r.all = append(r.all, entries...)
	for _, e := range entries {
		r.log = append(r.log, inShort(e))
	}
}

func inShort(e Entry) string {
	switch {
	case e.Past != nil:
		return fmt.Sprintf("%s %s %s %s", e.Kind, e.Past.Act, e.Past.Symptom, e.Past.Measured)
	case e.Notice != nil:
		return fmt.Sprintf("%s %s to %s", e.Kind, e.Notice.Act, e.Notice.Session)
	case e.Escalation != nil:
		return fmt.Sprintf("%s %s %s x%d", e.Kind, said(*e.Verdict), e.Verdict.Node, e.Escalation.Members)
	default:
		return fmt.Sprintf("%s %s %s", e.Kind, said(*e.Verdict), e.Verdict.Node)
	}
}

// said is a verdict in short.
func said(v Verdict) string {
	s := string(v.Kind)
	if v.Breach != "" {
		s += "/" + string(v.Breach)
	}
	if v.Cause != "" {
		s += " by " + v.Cause
	}
	return s + " " + string(v.Symptom)
}

// expect compares what was said since the last call.
func (r *record) expect(want ...string) {
	r.t.Helper()
	if !slices.Equal(r.log, want) {
		r.t.Errorf("said:\n\t%s\nwant:\n\t%s", strings.Join(r.log, "\n\t"), strings.Join(want, "\n\t"))
	}
	r.log = nil
}

// until lets time pass, and stops wherever the book wants to be asked.
func (r *record) until(seconds int) {
	r.t.Helper()
	for range 10000 {
		next, ok := r.Next()
		if !ok || next.After(at(seconds)) {
			r.note(r.Judge(at(seconds)))
			return
		}
		r.note(r.Judge(next))
	}
	r.t.Fatal("time does not pass: the book is due again and again")
}
