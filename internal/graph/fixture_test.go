package graph

import (
	"fmt"
	"testing"
	"time"
)

var found = Origin{By: "a test"}

// shop is a cluster with three control planes, two workers, Flux and a shop.
func shop(cluster string) Specs {
	var s Specs
	node := func(name string, tolerates ...Tolerance) {
		s.Nodes = append(s.Nodes, NodeSpec{Name: Name(name), Tolerates: tolerates, Origin: found})
	}
	edge := func(from, to string) {
		s.Edges = append(s.Edges, EdgeSpec{From: Name(from), To: Name(to), Origin: found})
	}
	c := cluster
	node("etcd/"+c, Tolerance{Machine, Quorum(3)})
	node("apiserver/"+c, Tolerance{Machine, 2})
	node("flux/" + c)
	node("gitrepo/" + c + "/flux-system/fleet")
	node("ks/" + c + "/flux-system/infra")
	node("ks/" + c + "/flux-system/apps")
	node("deploy/"+c+"/shop/web", Tolerance{Machine, 1})
	node("deploy/" + c + "/shop/batch")
	node("svc/"+c+"/shop/web", Tolerance{Deployment, 0})
	for i := 1; i <= 3; i++ {
		n := fmt.Sprintf("node/%s/cp-%d", c, i)
		node(n)
		edge(n, "etcd/"+c)
		edge(n, "apiserver/"+c)
	}
	for i := 1; i <= 2; i++ {
		n := fmt.Sprintf("node/%s/w-%d", c, i)
		node(n)
		edge(n, "deploy/"+c+"/shop/web")
	}
	edge("node/"+c+"/w-1", "deploy/"+c+"/shop/batch")
	edge("etcd/"+c, "apiserver/"+c)
	edge("apiserver/"+c, "flux/"+c)
	edge("flux/"+c, "gitrepo/"+c+"/flux-system/fleet")
	edge("gitrepo/"+c+"/flux-system/fleet", "ks/"+c+"/flux-system/infra")
	edge("ks/"+c+"/flux-system/infra", "ks/"+c+"/flux-system/apps")
	edge("ks/"+c+"/flux-system/apps", "deploy/"+c+"/shop/web")
	edge("deploy/"+c+"/shop/web", "svc/"+c+"/shop/web")
	return s
}

func build(t testing.TB, layers ...Specs) *Version {
	t.Helper()
	v, left, problems := Build(layers...)
	if len(problems)+len(left) > 0 {
		t.Fatalf("problems %v, left out %v", problems, left)
	}
	return v
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func span(from, to int) Span {
	s := Span{From: noon.Add(time.Duration(from) * time.Second)}
	if to > 0 {
		s.To = noon.Add(time.Duration(to) * time.Second)
	}
	return s
}
