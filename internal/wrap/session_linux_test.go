package wrap_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/wrap/journal"
)

// sessions runs a command line and gives the sessions of the acts that it left, in the order of their pods' names.
func (r *rig) sessions(line string) []act.Session {
	r.t.Helper()
	if x := r.sh(true, line, ""); x.status != 0 {
		r.t.Fatalf("%s: %v", line, x)
	}
	files, err := journal.List(filepath.Dir(r.journalFile()))
	if err != nil {
		r.t.Fatal(err)
	}
	byPod := map[string]act.Session{}
	var pods []string
	for _, f := range files {
		for _, x := range r.delivered(f) {
			if x.Kind == journal.Begin {
				pod := x.Act.Targets[0].Name
				pods = append(pods, pod)
				byPod[pod] = *x.Session
			}
		}
	}
	slices.Sort(pods)
	var list []act.Session
	for _, p := range pods {
		list = append(list, byPod[p])
	}
	return list
}

// TestSessions starts the tool as people and agents do. Two acts are of one session, or they are not.
func TestSessions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line string
		same bool
		kind act.SessionKind
	}{
		"one terminal":                         {"kubectl delete pod a; bash -c 'kubectl delete pod b; true'", true, act.Person},
		"two terminals":                        {"setsid -w bash -c 'kubectl delete pod a; true'; setsid -w bash -c 'kubectl delete pod b; true'", false, act.Person},
		"an agent with a shell per command":    {"./claude -c 'setsid -w bash -c \"kubectl delete pod a\"; setsid -w bash -c \"kubectl delete pod b\"; true'", true, act.Agent},
		"two agents":                           {"./claude -c 'kubectl delete pod a; true'; ./claude -c 'kubectl delete pod b; true'", false, act.Agent},
		"an agent's shell and its own process": {"./claude -c 'CLAUDE_CODE_SESSION_ID=x bash -c \"kubectl delete pod a; true\"; kubectl delete pod b; true'", true, act.Agent},
		"jobs of one pipeline run":             {"export GITHUB_REPOSITORY=o/r GITHUB_RUN_ID=7; setsid -w kubectl delete pod a; setsid -w kubectl delete pod b", true, act.Pipeline},
		"as it was said":                       {"export CLEW_SESSION=mine; setsid -w kubectl delete pod a; setsid -w kubectl delete pod b", true, act.Person},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.env = slices.DeleteFunc(r.env, func(v string) bool { return strings.HasPrefix(v, "CLEW_SESSION=") })
			bash, err := os.ReadFile("/bin/bash")
			if err != nil {
				t.Fatal(err)
			}
			r.write(filepath.Join(r.dir, "claude"), string(bash))
			got := r.sessions(c.line)
			if len(got) != 2 {
				t.Fatalf("%d acts", len(got))
			}
			if same := got[0].ID == got[1].ID; same != c.same || got[0].Kind != c.kind || got[1].Kind != c.kind {
				t.Errorf("got %+v\nand %+v", got[0], got[1])
			}
		})
	}
}

// TestLargeConfiguration finds out where a command works while it runs, if that is much to read.
func TestLargeConfiguration(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var large strings.Builder
	large.WriteString("current-context: prod\ncontexts: [{name: prod, context: {cluster: prod, namespace: shop}}]\nclusters:\n- {name: prod, cluster: {server: 'https://10.0.0.1:6443'}}\nusers:\n")
	for i := range 2000 {
		fmt.Fprintf(&large, "- {name: u%d, user: {exec: {command: some-login-helper, args: [of, some, length]}}}\n", i)
	}
	r.write(filepath.Join(r.dir, "large"), large.String())
	r.env = append(r.env, "KUBECONFIG="+filepath.Join(r.dir, "large"))
	r.tool(true, "", "delete", "pod", "x")
	got := r.delivered(r.journalFile())
	if len(got) != 3 || got[1].Kind != journal.Placed || got[1].Place.Server != "https://10.0.0.1:6443" || got[1].Targets[0].Namespace != "shop" {
		t.Errorf("got %+v", got)
	}
}
