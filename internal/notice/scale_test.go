package notice

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
)

// fleet is a number of clusters of 1,000 nodes and about 3,000 edges each.
func fleet(tb testing.TB, clusters int) *graph.Version {
	tb.Helper()
	var s graph.Specs
	found := graph.Origin{By: "a benchmark"}
	for c := range clusters {
		s.Nodes, s.Edges = addCluster(s.Nodes, s.Edges, fmt.Sprintf("c%d", c), found)
	}
	v, left, problems := graph.Build(s)
	if len(left)+len(problems) > 0 {
		tb.Fatal(left, problems)
	}
	return v
}

// addCluster adds three control planes, 30 workers, Flux with 40 Kustomizations, 690 workloads and 230 Services.
func addCluster(nodes []graph.NodeSpec, edges []graph.EdgeSpec, c string, o graph.Origin) ([]graph.NodeSpec, []graph.EdgeSpec) {
	node := func(tolerates int, format string, args ...any) graph.Name {
		n := graph.Name(fmt.Sprintf(format, args...))
		spec := graph.NodeSpec{Name: n, Origin: o}
		if tolerates > 0 {
			spec.Tolerates = []graph.Tolerance{{Of: graph.Machine, Count: tolerates}}
		}
		nodes = append(nodes, spec)
		return n
	}
	edge := func(from, to graph.Name) { edges = append(edges, graph.EdgeSpec{From: from, To: to, Origin: o}) }
	etcd, api, flux := node(1, "etcd/%s", c), node(2, "apiserver/%s", c), node(0, "flux/%s", c)
	edge(etcd, api)
	edge(api, flux)
	for i := range 3 {
		cp := node(0, "node/%s/cp-%d", c, i)
		edge(cp, etcd)
		edge(cp, api)
	}
	var workers, ks []graph.Name
	for i := range 30 {
		workers = append(workers, node(0, "node/%s/w-%d", c, i))
	}
	repo := node(0, "gitrepo/%s/flux-system/fleet", c)
	edge(flux, repo)
	for i := range 40 {
		k := node(0, "ks/%s/flux-system/k%d", c, i)
		edge(repo, k)
		edge(flux, k)
		ks = append(ks, k)
	}
	for i := range 690 {
		d := node(i%3, "deploy/%s/ns%d/d%d", c, i%20, i)
		edge(ks[i%40], d)
		for j := range 2 + (i%4)/3 {
			edge(workers[(i*7+j*11)%30], d)
		}
		if i < 230 {
			svc := node(0, "svc/%s/ns%d/s%d", c, i%20, i)
			edge(d, svc)
			edge(ks[i%40], svc)
			edges = append(edges, graph.EdgeSpec{From: svc, To: graph.Name(fmt.Sprintf("deploy/%s/ns%d/d%d", c, (i+230)%20, i+230)), Origin: o})
		}
	}
	return nodes, edges
}

// busy fills a book: sessions with three interests each, and acts that run.
func busy(v *graph.Version, clusters, sessions, acts int) *Book {
	b := NewBook(v)
	for i := range sessions {
		id := fmt.Sprintf("s-%d", i)
		for j := range 3 {
			d := (i*31 + j*17) % 690
			b.PutInterest(Interest{id, graph.Name(fmt.Sprintf("deploy/c%d/ns%d/d%d", i%clusters, d%20, d)), at(7200)}, at(0))
		}
	}
	for i := range acts {
		b.PutAct(someAct(i, i%clusters), at(0))
	}
	return b
}

// someAct is, of twelve, seven restarts of workloads, three drained workers, a Kustomization and a control plane.
func someAct(i, cluster int) Act {
	d := (i * 13) % 690
	a := Act{
		ID: fmt.Sprintf("i-%d", i), Session: fmt.Sprintf("a-%d", i), Who: "somebody", Doing: "does something", Kind: "kubectl rollout restart",
		Class: act.Mutate, Start: at(i % 60),
		Targets: []graph.Target{{Node: graph.Name(fmt.Sprintf("deploy/c%d/ns%d/d%d", cluster, d%20, d)), Effect: graph.Restart}},
	}
	switch i % 12 {
	case 2, 5, 8:
		a.Kind, a.Targets = "kubectl drain", []graph.Target{{Node: graph.Name(fmt.Sprintf("node/c%d/w-%d", cluster, i%30)), Effect: graph.Drain}}
	case 7:
		a.Kind, a.Targets = "flux reconcile", []graph.Target{{Node: graph.Name(fmt.Sprintf("ks/c%d/flux-system/k%d", cluster, i%40)), Effect: graph.Change}}
	case 11:
		a.Kind, a.Targets = "talosctl upgrade", []graph.Target{{Node: graph.Name(fmt.Sprintf("node/c%d/cp-%d", cluster, i%3)), Effect: graph.Down}}
		a.Default = []Expectation{{Symptom: graph.APIGap, For: time.Minute}}
	}
	return a
}

// heapMiB is what a value keeps on the heap, in MiB.
func heapMiB() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// cpu is the processor time that the process has used, garbage collection included. On a machine that others use, too,
// it says more than the clock.
func cpu(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func quantile(list []time.Duration, q float64) time.Duration {
	slices.Sort(list)
	return list[min(len(list)-1, int(q*float64(len(list))))]
}

// BenchmarkNewAct is the cost of a new act's notices in a graph of 100,000 nodes and 300,000 edges, with 10,000
// sessions and 200 acts running. "mixed" draws them like the running ones; "control plane" is the widest there is.
func BenchmarkNewAct(b *testing.B) {
	before := heapMiB()
	v := fleet(b, 101)
	book := busy(v, 101, 10000, 200)
	nodes, edges := v.Len()
	mib := heapMiB() - before
	for name, index := range map[string]func(i int) int{
		"mixed": func(i int) int { return 1000 + i }, "control plane": func(i int) int { return 1007 + 12*i },
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			var used time.Duration
			told := 0
			for i := 0; b.Loop(); i++ {
				a := someAct(index(i), i%100)
				start, startCPU := time.Now(), cpu(b)
				entries := book.PutAct(a, at(61))
				took = append(took, time.Since(start))
				used += cpu(b) - startCPU
				told += len(entries)
				b.StopTimer()
				a.Class = act.Read // it leaves again, so that the load stays the same
				book.PutAct(a, at(61))
				delete(book.acts, a.ID)
				b.StartTimer()
			}
			b.ReportMetric(float64(quantile(took, 0.99).Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(used.Microseconds())/1000/float64(len(took)), "cpu-ms/op")
			b.ReportMetric(float64(told)/float64(len(took)), "notices/op")
			b.ReportMetric(mib, "MiB")
			b.ReportMetric(float64(nodes), "nodes")
			b.ReportMetric(float64(edges), "edges")
		})
	}
}

// BenchmarkUnaffectedGraph is the cost of the same act, with the same sessions and acts around it, in graphs of which
// the larger is ten times the smaller.
func BenchmarkUnaffectedGraph(b *testing.B) {
	for _, clusters := range []int{10, 100} {
		book := busy(fleet(b, clusters), 10, 1000, 20)
		b.Run(fmt.Sprintf("nodes=%d", clusters*1000), func(b *testing.B) {
			a := someAct(1007, 7)
			start, n := cpu(b), 0
			for b.Loop() {
				a.Class = act.Mutate
				book.PutAct(a, at(61))
				a.Class = act.Read
				book.PutAct(a, at(61))
				n++
			}
			b.ReportMetric(float64((cpu(b)-start).Microseconds())/1000/float64(n), "cpu-ms/op")
		})
	}
}

// BenchmarkSymptoms is the cost of judging one new symptom, of many nodes and of few.
func BenchmarkSymptoms(b *testing.B) {
	v := fleet(b, 100)
	for name, report := range map[string]func(i int) Report{
		"many nodes": func(i int) Report {
			d := i % 690
			return seen(fmt.Sprintf("r-%d", i), graph.Name(fmt.Sprintf("deploy/c%d/ns%d/d%d", i%100, d%20, d)), graph.PodRestart, 61+i/2000, 62+i/2000)
		},
		"one storm": func(i int) Report {
			r := seen(fmt.Sprintf("r-%d", i), graph.Name(fmt.Sprintf("apiserver/c%d", 11+12*(i%3))), graph.APIGap, 61+i/2000, -1)
			return r
		},
	} {
		b.Run(name, func(b *testing.B) {
			book := busy(v, 100, 10000, 200)
			i := 0
			for b.Loop() {
				now := at(62 + i/2000)
				book.PutReport(report(i), now)
				if i%2000 == 0 {
					book.Judge(now)
				}
				i++
			}
			b.ReportMetric(float64(i)/b.Elapsed().Seconds(), "symptoms/s")
		})
	}
}
