package clusterfile

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/act"
)

// authorityPEM is PEM text of a block that only its digest is taken of.
func authorityPEM(seed string) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("der " + seed)})
}

func authorityData(seed string) string { return base64.StdEncoding.EncodeToString(authorityPEM(seed)) }

const kubeText = `apiVersion: v1
kind: Config
current-context: prod
contexts:
- name: prod
  context: {cluster: c1, user: admin, namespace: shop}
- name: lab
  context: {cluster: c2, user: admin}
clusters:
- name: c1
  cluster:
    server: https://USER:hunter2@API.example:6443/path?token=hunter3
    certificate-authority-data: %s
- name: c2
  cluster: {server: "https://[FD00::0001]:6443", certificate-authority: ca/lab.crt}
users:
- name: admin
  user: {token: hunter4, client-key-data: hunter5, password: hunter6}
`

func TestParseKubeconfig(t *testing.T) {
	asked := ""
	read := func(path string) ([]byte, error) {
		asked = path
		return authorityPEM("lab"), nil
	}
	got, err := ParseKubeconfig("/home/me/.kube/config", fmt.Appendf(nil, kubeText, authorityData("prod")), read)
	if err != nil {
		t.Fatal(err)
	}
	want := act.Kubeconfig{
		CurrentContext: "prod",
		Contexts:       []act.KubeContext{{Name: "prod", Cluster: "c1", User: "admin", Namespace: "shop"}, {Name: "lab", Cluster: "c2", User: "admin"}},
		Clusters: []act.KubeCluster{
			{Name: "c1", Server: "https://api.example:6443", CA: CADigest(authorityPEM("prod"))},
			{Name: "c2", Server: "https://[fd00::1]:6443", CA: CADigest(authorityPEM("lab"))},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if asked != "/home/me/.kube/ca/lab.crt" {
		t.Errorf("the authority was looked for at %q", asked)
	}
	if b, _ := json.Marshal(got); strings.Contains(string(b), "hunter") {
		t.Errorf("a credential was kept: %s", b)
	}
	missing, err := ParseKubeconfig("k", fmt.Appendf(nil, kubeText, "not base64"), func(string) ([]byte, error) { return nil, errors.New("no") })
	if err != nil || missing.Clusters[0].CA != "" || missing.Clusters[1].CA != "" {
		t.Errorf("authorities that cannot be read: %+v, %v", missing, err)
	}
}

func TestParseKubeconfigJSONAndEmpty(t *testing.T) {
	got, err := ParseKubeconfig("k", []byte(`{"current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "c"}}]}`), nil)
	if err != nil || got.CurrentContext != "a" || len(got.Contexts) != 1 {
		t.Errorf("JSON: %+v, %v", got, err)
	}
	if got, err := ParseKubeconfig("k", []byte(" \n"), nil); err != nil || got.CurrentContext != "" {
		t.Errorf("empty: %+v, %v", got, err)
	}
}

func TestErrorsQuoteNothing(t *testing.T) {
	for name, text := range map[string]string{
		"a value of the wrong kind": "contexts: hunter2",
		"broken":                    "contexts: [hunter2\nx: {",
		"a tab":                     "a:\n\t- hunter2",
		"too large":                 "x: " + strings.Repeat("hunter2 ", MaxSize/8+1),
		"two of a name":             "contexts: [{name: a}, {name: a}]",
		"two clusters of a name":    "clusters: [{name: a}, {name: a}]",
	} {
		_, err := ParseKubeconfig("/k", []byte(text), nil)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") || !strings.HasPrefix(err.Error(), "/k") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseTalosconfig("/t", []byte("contexts: hunter2")); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("talosconfig: %v", err)
	}
}

func TestParseTalosconfig(t *testing.T) {
	got, err := ParseTalosconfig("t", fmt.Appendf(nil, `context: prod
contexts:
  prod:
    endpoints: [10.0.0.1, "FD00::1"]
    nodes: [CP-1]
    ca: %s
    crt: hunter2
    key: hunter3
  old:
    target: 10.9.9.9
`, authorityData("talos")))
	if err != nil {
		t.Fatal(err)
	}
	want := act.Talosconfig{Context: "prod", Contexts: []act.TalosContext{
		{Name: "old", Endpoints: []string{"10.9.9.9"}},
		{Name: "prod", Endpoints: []string{"10.0.0.1", "fd00::1"}, Nodes: []string{"cp-1"}, CA: CADigest(authorityPEM("talos"))},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestInCluster(t *testing.T) {
	env := map[string]string{"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
	get := func(name string) string { return env[name] }
	got := InCluster(get, true, authorityPEM("pod"), []byte("shop\n"))
	if got.Server != "https://[fd00::1]:443" || got.Namespace != "shop" || got.CA != CADigest(authorityPEM("pod")) {
		t.Errorf("got %+v", got)
	}
	if got := InCluster(get, false, nil, nil); got.Server != "" {
		t.Errorf("without a token: %+v", got)
	}
	env["POD_NAMESPACE"] = "jobs"
	if got := InCluster(get, true, nil, []byte("shop")); got.Namespace != "jobs" {
		t.Errorf("POD_NAMESPACE: %+v", got)
	}
	if got := InCluster(func(string) string { return "" }, true, nil, nil); got.Server != "" {
		t.Errorf("outside: %+v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(kubeText, "x")))
	f.Add([]byte("context: a\ncontexts: {a: {endpoints: [b]}}"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = ParseKubeconfig("k", b, nil)
		_, _ = ParseTalosconfig("t", b)
	})
}
