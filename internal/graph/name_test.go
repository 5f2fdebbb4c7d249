package graph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	for _, c := range []struct{ in, want, label, typed string }{
		{"node/prod/cp-2", "node/prod/cp-2", "cp-2", "node/cp-2"},
		{"talos/prod/cp-2", "node/prod/cp-2", "cp-2", "node/cp-2"},
		{"etcd/prod", "etcd/prod", "etcd", "etcd"},
		{"api/prod", "apiserver/prod", "API", "api"},
		{"deployment/prod/shop/web", "deploy/prod/shop/web", "shop/web", "deploy/web -n shop"},
		{"deployments.apps/prod/shop/web", "deploy/prod/shop/web", "shop/web", "deploy/web -n shop"},
		{"kustomization.kustomize.toolkit.fluxcd.io/p/flux-system/apps", "ks/p/flux-system/apps", "flux-system/apps", "ks/apps -n flux-system"},
		{"endpoint/prod/10.0.0.1:6443", "endpoint/prod/10.0.0.1:6443", "10.0.0.1:6443", "endpoint/10.0.0.1:6443"},
	} {
		n, err := ParseName(c.in)
		if err != nil || string(n) != c.want || n.Label() != c.label || n.Typed() != c.typed {
			t.Errorf("%s: %s %q %q %v", c.in, n, n.Label(), n.Typed(), err)
		}
	}
	for in, want := range map[string]string{
		"prod": "no full name", "gizmo/prod/x": "no known kind", "etcd/prod/x": "that is kind/cluster",
		"node/prod": "kind/cluster/name", "deploy/prod/web": "kind/cluster/namespace/name", "deploy/prod//web": "empty",
		"node/prod/a b": "space", "node/prod/a\x1b[2J": "control", "/prod/x": "no known kind",
	} {
		if n, err := ParseName(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v, want an error with %q", in, n, err, want)
		}
	}
}

func TestKindsAndWordsAreUnique(t *testing.T) {
	seen := map[string]Kind{}
	for _, k := range kinds {
		for _, w := range append([]string{string(k.kind)}, k.aliases...) {
			if other, ok := seen[w]; ok {
				t.Errorf("%q stands for %s and %s", w, other, k.kind)
			}
			seen[w] = k.kind
		}
	}
}

func TestFind(t *testing.T) {
	v := build(t, shop("prod"), shop("lab"))
	for _, c := range []struct {
		typed, cluster, namespace string
		want                      string
	}{
		{"deploy/web -n shop", "prod", "", "deploy/prod/shop/web"},
		{"deploy web --namespace=shop", "prod", "x", "deploy/prod/shop/web"},
		{"deployment.apps/web -nshop", "prod", "", "deploy/prod/shop/web"},
		{"deploy/web", "prod", "shop", "deploy/prod/shop/web"},
		{"deploy/web", "prod", "other", ""},
		{"deploy/web -A", "prod", "other", "deploy/prod/shop/web"},
		{"web", "prod", "", "deploy/prod/shop/web svc/prod/shop/web"},
		{"shop/web", "prod", "", "deploy/prod/shop/web svc/prod/shop/web"},
		{"deploy/web -n shop", "", "", "deploy/lab/shop/web deploy/prod/shop/web"},
		{"node/cp-2", "prod", "shop", "node/prod/cp-2"},
		{"talos/prod/cp-2", "", "", "node/prod/cp-2"},
		{"talos/prod/cp-2", "lab", "", "node/prod/cp-2"},
		{"cp-2", "prod", "shop", "node/prod/cp-2"},
		{"api", "prod", "shop", "apiserver/prod"},
		{"etcd", "", "", "etcd/lab etcd/prod"},
		{"ks/apps", "prod", "", "ks/prod/flux-system/apps"},
		{"nothing", "prod", "", ""},
	} {
		q, err := ParseQuery(c.typed, c.cluster, c.namespace)
		if err != nil {
			t.Errorf("%q: %v", c.typed, err)
			continue
		}
		var words []string
		for _, n := range v.Find(q) {
			words = append(words, string(n))
		}
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("%q in %s/%s: %q, want %q", c.typed, c.cluster, c.namespace, got, c.want)
		}
	}
	for _, typed := range []string{"", "-n shop", "deploy/", "deploy/web --force", "gizmo/a/b/c", "etcd/prod/x/y"} {
		if q, err := ParseQuery(typed, "prod", ""); err == nil {
			t.Errorf("%q was understood as %+v", typed, q)
		}
	}
}

func TestQueryName(t *testing.T) {
	q, _ := ParseQuery("deploy/new -n shop", "prod", "")
	if n, err := q.Name(); err != nil || n != "deploy/prod/shop/new" {
		t.Errorf("%s %v", n, err)
	}
	q, _ = ParseQuery("new", "prod", "")
	if n, err := q.Name(); err == nil {
		t.Errorf("%q leaves the kind open, got %s", "new", n)
	}
}

// Whatever a node's name, typing it the way it is shown finds it.
func TestTypedNamesAreFound(t *testing.T) {
	v := build(t, shop("prod"), shop("lab"))
	names := slices.SortedFunc(func(yield func(Name) bool) {
		for n := range v.Nodes() {
			if !yield(n.Name) {
				return
			}
		}
	}, compareNames)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom(names).Draw(t, "name")
		for _, typed := range []string{n.Typed(), string(n)} {
			q, err := ParseQuery(typed, n.Cluster(), "")
			if err != nil {
				t.Fatal(err)
			}
			if got := v.Find(q); fmt.Sprint(got) != fmt.Sprint([]Name{n}) {
				t.Errorf("%q finds %v, want %s", typed, got, n)
			}
			if full, err := q.Name(); err != nil || full != n {
				t.Errorf("%q spells out %s, want %s (%v)", typed, full, n, err)
			}
		}
	})
}
