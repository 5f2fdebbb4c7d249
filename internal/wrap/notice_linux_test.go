package wrap_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
	"github.com/clewops/clew/internal/notice"
	"github.com/clewops/clew/internal/wrap/situation"
)

// kubeconfig lets the rig's tool work on a server, in the context prod.
func (r *rig) kubeconfig(server string) {
	r.t.Helper()
	file := filepath.Join(r.dir, "kubeconfig")
	text, err := json.Marshal(map[string]any{
		"current-context": "prod",
		"contexts":        []any{map[string]any{"name": "prod", "context": map[string]string{"cluster": "prod", "namespace": "shop"}}},
		"clusters":        []any{map[string]any{"name": "prod", "cluster": map[string]string{"server": server}}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.write(file, string(text))
	r.env = append(r.env, "KUBECONFIG="+file)
}

// away is the address of a server that is not there.
func away(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return "https://" + addr
}

// there is the address of a server that answers, though not well.
func there(t *testing.T) string {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(s.Close)
	return s.URL
}

// upgrade is a situation in which alice upgrades cp-2, which takes the API and the shop's web with it.
func (r *rig) upgrade(server string, author string) {
	r.t.Helper()
	const (
		cp2  = graph.Name("node/prod/cp-2")
		etcd = graph.Name("etcd/prod")
		api  = graph.Name("apiserver/prod")
		web  = graph.Name("deploy/prod/shop/web")
	)
	now := time.Now()
	by := graph.Origin{By: "a test"}
	h := situation.Head{
		Ledger:   now,
		Clusters: []situation.Cluster{{Name: "prod", Known: act.KnownCluster{Servers: []string{server}}}},
		Sessions: []notice.Session{{ID: "s-bob"}, {ID: "s-alice", Identity: "alice"}},
		Notices: []notice.Notice{{
			Act: "i-7k2", Session: "s-bob", Who: "alice", Doing: "upgrades cp-2", Path: []graph.Name{cp2, etcd, api, web}, Until: now.Add(time.Hour),
		}},
	}
	f := situation.Facts{
		Graph: graph.Specs{
			Nodes: []graph.NodeSpec{{Name: cp2, Origin: by}, {Name: etcd, Origin: by}, {Name: api, Origin: by}, {Name: web, Origin: by}},
			Edges: []graph.EdgeSpec{{From: cp2, To: etcd, Origin: by}, {From: etcd, To: api, Origin: by}},
		},
		Acts: []notice.Act{{
			ID: "i-7k2", Session: author, Who: "alice", Doing: "upgrades cp-2", Kind: "talosctl upgrade", Class: act.Mutate,
			Targets: []graph.Target{{Node: cp2, Effect: graph.Down}}, Start: now.Add(-time.Minute),
			Default: []notice.Expectation{{Symptom: graph.APIGap, For: time.Minute}},
		}},
		Reports: []notice.Report{{ID: "s-1", Node: api, Symptom: graph.APIGap, From: now.Add(-14 * time.Second), Source: notice.Probe, Detail: "refused"}},
	}
	if author == "" {
		f.Acts, h.Notices = nil, nil
	}
	if err := situation.Write(filepath.Join(r.dir, "home", ".cache", "clew"), h, f); err != nil {
		r.t.Fatal(err)
	}
}

// TestTheLineIsASuffix has a notice active: after a command that failed for a server that is away there is one line more
// on stderr, the last; everywhere else there is none.
func TestTheLineIsASuffix(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server := away(t)
	r.kubeconfig(server)
	r.upgrade(server, "s-alice")
	silent := func(why string, args ...string) {
		t.Helper()
		if plain, wrapped := r.tool(false, "", args...), r.tool(true, "", args...); plain != wrapped {
			t.Errorf("%s: alone %v, wrapped %v", why, plain, wrapped)
		}
	}
	silent("a success", "both", "0")
	silent("a status that is no failure", "diff", "-f", "x")
	silent("a command that touches no cluster", "version", "--client")
	plain, wrapped := r.tool(false, "", "down"), r.tool(true, "", "down")
	line, ok := strings.CutPrefix(wrapped.stderr, plain.stderr)
	if !ok || wrapped.stdout != plain.stdout || wrapped.status != plain.status {
		t.Fatalf("alone %v, wrapped %v", plain, wrapped)
	}
	if !strings.HasPrefix(line, "clew: EXPLAINED by i-7k2: alice upgrades cp-2 · API gap 14 s of <=60 s (probe: refused ") ||
		strings.Count(line, "\n") != 1 || utf8.RuneCountInString(line) > 241 {
		t.Errorf("the line is %q", line)
	}
	t.Logf("%s", line)
	silent("the same once more", "down")
	if x := r.tool(true, "", "die", "TERM"); strings.Contains(x.stderr, "clew:") {
		t.Errorf("the same after a death by signal: %v", x)
	}
	r.env = append(r.env, "CLEW_SESSION=s-bob") // the first one counts: still the same session
	if x := r.sh(true, "kubectl down 2>&1 | tail -5", ""); strings.Contains(x.stdout, "clew:") {
		t.Errorf("again: %v", x)
	}
}

// another is the rig's environment in another session.
func (r *rig) another(session string) {
	for i, v := range r.env {
		if strings.HasPrefix(v, "CLEW_SESSION=") {
			r.env[i] = "CLEW_SESSION=" + session
		}
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		author string
		server func(*testing.T) string
		want   string // empty: no line
		args   []string
	}{
		"explained":           {"s-alice", away, "clew: EXPLAINED by i-7k2", []string{"down"}},
		"the command's own":   {"s-alice", there, "clew: OWN: prod's API answers", []string{"down"}},
		"one's own work":      {"s-bob", away, "clew: OWN: ", []string{"down"}},
		"nobody's work":       {"", away, "clew: UNEXPLAINED: prod's API refuses", []string{"down"}},
		"well, and no notice": {"", there, "", []string{"down"}},
		"in a pipe":           {"s-alice", away, "clew: EXPLAINED by i-7k2", []string{"down", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			server := c.server(t)
			r.kubeconfig(server)
			r.upgrade(server, c.author)
			x := r.tool(true, "", c.args...)
			_, line, _ := strings.Cut(x.stderr, "cannot connect\n")
			if !strings.HasPrefix(line, c.want) || c.want == "" && line != "" {
				t.Errorf("got %q, want %q", line, c.want)
			}
			if strings.Count(line, "\n") > 1 {
				t.Errorf("more than a line: %q", line)
			}
		})
	}
}

// TestWithoutASituation says what is not known, once.
func TestWithoutASituation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.kubeconfig(away(t))
	first, second := r.tool(true, "", "down"), r.tool(true, "", "down")
	if !strings.HasSuffix(first.stderr, "clew: UNKNOWN: ledger never reached; notices are missing · treat as unexplained\n") || second.stderr != "cannot connect\n" {
		t.Errorf("first %v, then %v", first, second)
	}
	file := filepath.Join(r.dir, "home", ".cache", "clew", situation.FileName)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, damaged := range []string{"", "{", `{"schema":"clew-situation/9"}` + "\n", `{"schema":"clew-situation/1"}` + "\n{\n"} {
		r.write(file, damaged)
		r.another(fmt.Sprint("s-", i))
		if x := r.tool(true, "", "down"); !strings.Contains(x.stderr, "clew: UNKNOWN: ") || x.status != 1 {
			t.Errorf("%q: %v", damaged, x)
		}
	}
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	prompt := func() string {
		return r.exec(true, filepath.Join(binaries, "clewx"), []string{"clewx", "prompt"}, "").stdout
	}
	if got := prompt(); got != "" {
		t.Errorf("without a situation: %q", got)
	}
	r.upgrade("https://10.0.0.1:6443", "s-alice")
	if got := prompt(); got != "clew: i-7k2 alice upgrades cp-2" {
		t.Errorf("got %q", got)
	}
	r.another("s-carol")
	if got := prompt(); got != "" {
		t.Errorf("in a session that nothing concerns: %q", got)
	}
}
