package act_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/clewops/clew/internal/act"
)

var (
	one = act.Kubeconfig{
		Contexts: []act.KubeContext{{Name: "prod", Cluster: "c1", Namespace: "shop"}, {Name: "bare", Cluster: "c1"}},
		Clusters: []act.KubeCluster{{Name: "c1", Server: "https://one:6443", CA: "ca1"}},
	}
	two = act.Kubeconfig{
		CurrentContext: "lab",
		Contexts:       []act.KubeContext{{Name: "prod", Cluster: "c2"}, {Name: "lab", Cluster: "c2"}, {Name: "dangling", Cluster: "gone"}},
		Clusters:       []act.KubeCluster{{Name: "c1", Server: "https://other:6443", CA: "caX"}, {Name: "c2", Server: "https://two:6443", CA: "ca2"}},
	}
	three = act.Kubeconfig{CurrentContext: "prod"}
)

func TestMergeKubeconfigs(t *testing.T) {
	m := act.MergeKubeconfigs([]act.Kubeconfig{one, two, three})
	if m.CurrentContext != "lab" {
		t.Errorf("the current context is %q", m.CurrentContext)
	}
	if i := slices.IndexFunc(m.Contexts, func(c act.KubeContext) bool { return c.Name == "prod" }); m.Contexts[i].Cluster != "c1" || m.Contexts[i].Namespace != "shop" {
		t.Errorf("the first file's context does not win whole: %+v", m.Contexts[i])
	}
	if i := slices.IndexFunc(m.Clusters, func(c act.KubeCluster) bool { return c.Name == "c1" }); m.Clusters[i].CA != "ca1" {
		t.Errorf("the first file's cluster does not win: %+v", m.Clusters[i])
	}
	if back := act.MergeKubeconfigs([]act.Kubeconfig{three, two, one}); back.CurrentContext != "prod" || back.Contexts[0].Cluster != "c2" {
		t.Errorf("the order of the files does not count: %+v", back)
	}
}

func TestKubeconfigFiles(t *testing.T) {
	for _, c := range []struct {
		option, variable, home string
		want                   []string
		alone                  bool
	}{
		{"", "", "/home/me", []string{"/home/me/.kube/config"}, false},
		{"", "a:b", "/home/me", []string{"a", "b"}, false},
		{"", "a::a:", "/home/me", []string{"a"}, false},
		{"x", "a:b", "/home/me", []string{"x"}, true},
		{"", "", "", nil, false},
	} {
		got, alone := act.KubeconfigFiles(c.option, c.variable, c.home, ":")
		if !reflect.DeepEqual(got, c.want) || alone != c.alone {
			t.Errorf("%+v: %v %t", c, got, alone)
		}
	}
}

func TestResolveKube(t *testing.T) {
	merged := act.MergeKubeconfigs([]act.Kubeconfig{one, two})
	pod := act.InCluster{Server: "https://10.96.0.1:443", CA: "capod", Namespace: "jobs"}
	for _, c := range []struct {
		name string
		k    act.Kubeconfig
		o    act.KubeOverrides
		pod  act.InCluster
		want act.Place
	}{
		{"the current context", merged, act.KubeOverrides{}, act.InCluster{}, act.Place{Context: "lab", Server: "https://two:6443", Cluster: act.ClusterID{CA: "ca2"}, Namespace: "default"}},
		{"--context", merged, act.KubeOverrides{Context: "prod"}, act.InCluster{}, act.Place{Context: "prod", Server: "https://one:6443", Cluster: act.ClusterID{CA: "ca1"}, Namespace: "shop"}},
		{"--namespace", merged, act.KubeOverrides{Context: "prod", Namespace: "db"}, act.InCluster{}, act.Place{Context: "prod", Server: "https://one:6443", Cluster: act.ClusterID{CA: "ca1"}, Namespace: "db"}},
		{"-A", merged, act.KubeOverrides{Context: "bare", AllNamespaces: true}, act.InCluster{}, act.Place{Context: "bare", Server: "https://one:6443", Cluster: act.ClusterID{CA: "ca1"}, Namespace: "default", AllNamespaces: true}},
		{"--cluster", merged, act.KubeOverrides{Context: "prod", Cluster: "c2"}, act.InCluster{}, act.Place{Context: "prod", Server: "https://two:6443", Cluster: act.ClusterID{CA: "ca2"}, Namespace: "shop"}},
		{"--server", merged, act.KubeOverrides{Context: "prod", Server: "https://direct:6443"}, act.InCluster{}, act.Place{Context: "prod", Server: "https://direct:6443", Cluster: act.ClusterID{CA: "ca1"}, Namespace: "shop"}},
		{"--server with a password", merged, act.KubeOverrides{Context: "prod", Server: "https://u:p@direct:6443"}, act.InCluster{}, act.Place{Context: "prod", Cluster: act.ClusterID{CA: "ca1"}, Namespace: "shop"}},
		{"in a pod", act.Kubeconfig{}, act.KubeOverrides{}, pod, act.Place{Server: "https://10.96.0.1:443", Cluster: act.ClusterID{CA: "capod"}, Namespace: "jobs", InCluster: true}},
		{"in a pod, with a kubeconfig", merged, act.KubeOverrides{}, pod, act.Place{Context: "lab", Server: "https://two:6443", Cluster: act.ClusterID{CA: "ca2"}, Namespace: "default"}},
		{"nothing at all", act.Kubeconfig{}, act.KubeOverrides{}, act.InCluster{}, act.Place{Server: "http://localhost:8080", Namespace: "default"}},
	} {
		got, err := act.ResolveKube(c.k, c.o, c.pod)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got  %+v, %v\n want %+v", c.name, got, err, c.want)
		}
	}
	for name, o := range map[string]act.KubeOverrides{"context": {Context: "no"}, "cluster": {Context: "prod", Cluster: "no"}} {
		if got, err := act.ResolveKube(merged, o, act.InCluster{}); err == nil {
			t.Errorf("a %s that is not there: %+v", name, got)
		}
	}
	if _, err := act.ResolveKube(act.Kubeconfig{CurrentContext: "no"}, act.KubeOverrides{}, act.InCluster{}); err == nil {
		t.Error("a current context that is not there was resolved")
	}
}

func TestResolveTalos(t *testing.T) {
	file := act.Talosconfig{Context: "prod", Contexts: []act.TalosContext{
		{Name: "prod", Endpoints: []string{"10.0.0.1"}, Nodes: []string{"10.0.0.2"}, CA: "tca1"},
		{Name: "lab", Endpoints: []string{"10.1.0.1"}, CA: "tca2"},
	}}
	for _, c := range []struct {
		name string
		o    act.TalosOverrides
		want act.Place
	}{
		{"the file's", act.TalosOverrides{}, act.Place{Context: "prod", TalosCA: "tca1", Endpoints: []string{"10.0.0.1"}, Nodes: []string{"10.0.0.2"}}},
		{"--nodes", act.TalosOverrides{Nodes: []string{"a", "b"}}, act.Place{Context: "prod", TalosCA: "tca1", Endpoints: []string{"10.0.0.1"}, Nodes: []string{"a", "b"}}},
		{"--endpoints", act.TalosOverrides{Endpoints: []string{"x"}}, act.Place{Context: "prod", TalosCA: "tca1", Endpoints: []string{"x"}, Nodes: []string{"10.0.0.2"}}},
		{"--context", act.TalosOverrides{Context: "lab"}, act.Place{Context: "lab", TalosCA: "tca2", Endpoints: []string{"10.1.0.1"}}},
	} {
		if got, err := act.ResolveTalos(file, c.o); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	if got, err := act.ResolveTalos(file, act.TalosOverrides{Context: "no"}); err == nil {
		t.Errorf("a context that is not there: %+v", got)
	}
	if got, err := act.ResolveTalos(act.Talosconfig{}, act.TalosOverrides{Nodes: []string{"n"}}); err != nil || got.Nodes[0] != "n" {
		t.Errorf("without a file: %+v, %v", got, err)
	}
	if got := act.TalosconfigFiles("", "/env", "", "/home/me"); !reflect.DeepEqual(got, []string{"/env", "/home/me/.talos/config", "/var/run/secrets/talos.dev/config"}) {
		t.Errorf("files: %v", got)
	}
	if got := act.TalosconfigFiles("", "", "/th", "/home/me"); got[0] != "/th/config" {
		t.Errorf("TALOS_HOME: %v", got)
	}
	if got := act.TalosconfigFiles("x", "/env", "", "/home/me"); !reflect.DeepEqual(got, []string{"x"}) {
		t.Errorf("an option: %v", got)
	}
}

func TestPlaceOfACommandLine(t *testing.T) {
	argv, env := command("TALOSCONFIG=/tc talosctl --context lab -n a,b -e x -n c reboot")
	o := act.TalosOverridesOf(act.Match(recognisers(t), argv, lookup(env)))
	if o.Context != "lab" || !reflect.DeepEqual(o.Nodes, []string{"a", "b", "c"}) || !reflect.DeepEqual(o.Endpoints, []string{"x"}) {
		t.Errorf("talosctl: %+v", o)
	}
	argv, env = command("helm --kube-context p -n shop upgrade web ./chart")
	if k := act.KubeOverridesOf(act.Match(recognisers(t), argv, lookup(env))); k.Context != "p" || k.Namespace != "shop" {
		t.Errorf("helm: %+v", k)
	}
	argv, env = command("flux get ks -A")
	if k := act.KubeOverridesOf(act.Match(recognisers(t), argv, lookup(env))); !k.AllNamespaces || k.Namespace != "flux-system" {
		t.Errorf("flux: %+v", k)
	}
}

func TestCompareClusters(t *testing.T) {
	id := func(uid, ca string) act.ClusterID { return act.ClusterID{UID: uid, CA: ca} }
	for _, c := range []struct {
		a, b act.ClusterID
		want act.Likeness
	}{
		{id("u1", "a"), id("u1", "a"), act.SameCluster},
		{id("u1", "a"), id("u1", "b"), act.SameCluster},  // a rotated authority
		{id("u1", "a"), id("u2", "a"), act.OtherCluster}, // a shared one
		{id("", "a"), id("u2", "a"), act.SameCluster},
		{id("", "a"), id("", "b"), act.MaybeSame},
		{id("", ""), id("", ""), act.MaybeSame},
		{id("u1", ""), id("", "b"), act.MaybeSame},
	} {
		if got := c.a.Compare(c.b); got != c.want || c.b.Compare(c.a) != got {
			t.Errorf("%+v and %+v: %s", c.a, c.b, got)
		}
	}
}

func TestLocate(t *testing.T) {
	known := []act.KnownCluster{
		{ID: act.ClusterID{UID: "u1", CA: "ca1"}, Servers: []string{"https://vip.prod:6443"}, TalosCA: "t1", Members: []string{"10.0.0.1", "10.0.0.2", "cp-1"}},
		{ID: act.ClusterID{UID: "u2", CA: "ca2"}, Servers: []string{"https://10.5.0.1:6443"}, TalosCA: "t2", Members: []string{"10.0.0.1", "10.9.0.2"}},
		{ID: act.ClusterID{UID: "u3", CA: "ca2"}, Servers: []string{"https://10.6.0.1:6443"}, Members: []string{"10.7.0.1", "fd00::7"}},
	}
	for _, c := range []struct {
		name string
		at   act.Place
		want int // -1: none
	}{
		{"a kubeconfig by its authority", act.Place{Cluster: act.ClusterID{CA: "ca1"}, Server: "https://tunnel:1"}, 0},
		{"by its server", act.Place{Server: "https://VIP.prod:6443"}, 0},
		{"another port is another server", act.Place{Server: "https://vip.prod:6444"}, -1},
		{"by its UID", act.Place{Cluster: act.ClusterID{UID: "u3"}}, 2},
		{"a shared authority, told apart by the server", act.Place{Cluster: act.ClusterID{CA: "ca2"}, Server: "https://10.6.0.1:6443"}, 2},
		{"a shared authority alone", act.Place{Cluster: act.ClusterID{CA: "ca2"}}, -1},
		{"a talosconfig by its authority", act.Place{TalosCA: "t2", Nodes: []string{"10.0.0.1"}}, 1},
		{"by its members", act.Place{Nodes: []string{"10.0.0.2", "CP-1"}}, 0},
		{"by an endpoint with a port", act.Place{Endpoints: []string{"[fd00::7]:50000"}}, 2},
		{"an address that two clusters have", act.Place{Nodes: []string{"10.0.0.1"}}, -1},
		{"one node is a stranger", act.Place{Nodes: []string{"10.0.0.2", "10.99.0.1"}}, -1},
		{"an unknown authority, although the members fit", act.Place{TalosCA: "t9", Nodes: []string{"10.0.0.2"}}, -1},
		{"an authority that contradicts the server", act.Place{Cluster: act.ClusterID{CA: "ca9"}, Server: "https://vip.prod:6443"}, -1},
		{"nothing", act.Place{}, -1},
	} {
		got, candidates := act.Locate(c.at, known)
		switch {
		case c.want < 0 && got != nil:
			t.Errorf("%s: %+v", c.name, got)
		case c.want >= 0 && (got == nil || got.ID.UID != known[c.want].ID.UID):
			t.Errorf("%s: %+v, candidates %v", c.name, got, candidates)
		}
	}
	if _, candidates := act.Locate(act.Place{Nodes: []string{"10.0.0.1"}}, known); !reflect.DeepEqual(candidates, []int{0, 1}) {
		t.Errorf("candidates: %v", candidates)
	}
}

func TestTargetsInTheirNamespaces(t *testing.T) {
	none := func(string) string { return "" }
	at := act.Place{Namespace: "shop"}
	for line, want := range map[string][]string{
		"kubectl get deploy web":        {"deploy/web -n shop"},
		"kubectl get deploy web -n db":  {"deploy/web -n db"},
		"kubectl cordon cp-1":           {"node/cp-1"},
		"kubectl get ns/x pod/y":        {"ns/x", "pod/y -n shop"},
		"flux install":                  {"flux"},
		"kubectl config use-context x":  nil,
		"kubectl argo restart deploy/x": {"deploy/x -n shop"},
	} {
		var got []string
		for _, target := range act.Match(act.Shipped(), words(line), none).WithPlace(at) {
			got = append(got, target.String())
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
	everywhere := act.Match(act.Shipped(), words("kubectl get pods -A"), none).WithPlace(act.Place{Namespace: "shop", AllNamespaces: true})
	if everywhere[0].Namespace != "" {
		t.Errorf("in all namespaces: %v", everywhere)
	}
}
