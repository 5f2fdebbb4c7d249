package clusterfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/act"
)

// someKubeconfig is a kubeconfig with contexts and clusters whose names other files have too.
func someKubeconfig(r *rand.Rand, file int) string {
	pick := func(names ...string) string { return names[r.IntN(len(names))] }
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Config\n")
	if r.IntN(2) == 0 {
		fmt.Fprintf(&b, "current-context: %s\n", pick("a", "b", "c"))
	}
	b.WriteString("users:\n- name: u\n  user: {token: t}\ncontexts:\n")
	for _, name := range []string{"a", "b", "c"} {
		if r.IntN(3) == 0 {
			continue
		}
		fmt.Fprintf(&b, "- name: %s\n  context: {cluster: %s, user: u%s}\n", name, pick("k1", "k2"), pick("", ", namespace: n1", ", namespace: n2"))
	}
	b.WriteString("clusters:\n")
	for _, name := range []string{"k1", "k2"} {
		if r.IntN(4) > 0 {
			fmt.Fprintf(&b, "- name: %s\n  cluster: {server: 'https://%s%d.example:6443'}\n", name, name, file)
		}
	}
	return b.String()
}

// minified is what kubectl prints of the configuration that it would use.
type minified struct {
	CurrentContext string `json:"current-context"`
	Clusters       []struct {
		Cluster struct{ Server string }
	}
	Contexts []struct {
		Context struct{ Namespace string }
	}
}

// TestAsKubectlResolvesIt compares the merging of kubeconfigs, the choice of a context, its cluster and its namespace
// with those of the machine's own kubectl.
func TestAsKubectlResolvesIt(t *testing.T) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("this machine has no kubectl")
	}
	compared, refused := 0, 0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 7))
		dir := t.TempDir()
		var files []string
		var list []act.Kubeconfig
		for i := range 1 + r.IntN(3) {
			text := someKubeconfig(r, i)
			file := filepath.Join(dir, fmt.Sprint(i))
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			parsed, err := ParseKubeconfig(file, []byte(text), nil)
			if err != nil {
				t.Fatal(err)
			}
			files, list = append(files, file), append(list, parsed)
		}
		var o act.KubeOverrides
		args := []string{"config", "view", "--minify", "-o", "json"}
		if r.IntN(2) == 0 {
			o.Context = []string{"a", "b", "c"}[r.IntN(3)]
			args = append(args, "--context", o.Context)
		}
		merged := act.MergeKubeconfigs(list)
		at, resolveErr := act.ResolveKube(merged, o, act.InCluster{})
		cmd := exec.Command(kubectl, args...)
		cmd.Env = []string{"KUBECONFIG=" + strings.Join(files, string(os.PathListSeparator)), "HOME=" + dir}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, kubectlErr := cmd.Output()
		if o.Context == "" && merged.CurrentContext == "" {
			continue // kubectl minifies nothing then
		}
		var want minified
		if kubectlErr == nil {
			if err := json.Unmarshal(out, &want); err != nil {
				t.Fatal(err)
			}
		}
		if kubectlErr != nil {
			refused++
			// A context that is there and leads to no cluster is refused when it is minified, not when it is used.
			if resolveErr == nil && at.Server != "http://localhost:8080" {
				t.Errorf("seed %d: kubectl refuses (%v: %s), and this gives %+v", seed, kubectlErr, stderr.String(), at)
			}
			continue
		}
		compared++
		if resolveErr != nil {
			t.Errorf("seed %d: %v, and kubectl gives %s", seed, resolveErr, out)
			continue
		}
		namespace := want.Contexts[0].Context.Namespace
		if namespace == "" {
			namespace = "default"
		}
		if at.Context != want.CurrentContext || at.Server != want.Clusters[0].Cluster.Server || at.Namespace != namespace {
			t.Errorf("seed %d: %+v, and kubectl gives %s", seed, at, out)
		}
	}
	if compared < 6 {
		t.Errorf("only %d configurations were compared", compared)
	}
	t.Logf("%d compared, %d refused by both", compared, refused)
}
