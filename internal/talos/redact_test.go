package talos

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"

	documents "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/types/meta"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

	"github.com/clewops/clew/internal/secret"
)

// kinds are the kinds of documents of Talos v1.13 beside v1alpha1.
var kinds = []string{
	"BlackholeRouteConfig", "BondConfig", "BridgeConfig", "DHCPv4Config", "DHCPv6Config", "DummyLinkConfig",
	"EnvironmentConfig", "EthernetConfig", "EventSinkConfig", "ExistingVolumeConfig", "ExtensionServiceConfig",
	"ExternalVolumeConfig", "HCloudVIPConfig", "HostnameConfig", "ImageVerificationConfig", "KmsgLogConfig",
	"KubeSpanConfig", "KubeSpanEndpointsConfig", "Layer2VIPConfig", "LinkAliasConfig", "LinkConfig",
	"NetworkDefaultActionConfig", "NetworkRuleConfig", "OOMConfig", "PCIDriverRebindConfig", "RawVolumeConfig",
	"RegistryAuthConfig", "RegistryMirrorConfig", "RegistryTLSConfig", "ResolverConfig", "RoutingRuleConfig",
	"SideroLinkConfig", "StaticHostConfig", "SwapVolumeConfig", "TCPProbeConfig", "TimeSyncConfig", "TrustedRootsConfig",
	"UserVolumeConfig", "VLANConfig", "VRFConfig", "VolumeConfig", "WatchdogTimerConfig", "WireguardConfig", "ZswapConfig",
}

// planter sets every string of a document to a value of its own.
type planter struct {
	places map[string]string // planted value: path
}

func (p *planter) value(path string) string {
	v := fmt.Sprintf("planted-%03d-here", len(p.places))
	p.places[v] = path
	return v
}

func (p *planter) plant(v reflect.Value, path string) {
	if strings.Count(path, ".") > 14 {
		return
	}
	switch x := v.Addr().Interface().(type) {
	case *meta.Meta, **v1alpha1.InstallDiskSizeMatcher: // no text of its own, or only text of one form
		return
	case *v1alpha1.ArgValue:
		*x = v1alpha1.NewArgValue(p.value(path), nil)
		return
	case *any:
		*x = p.value(path)
		return
	}
	if v.CanInt() || v.CanUint() {
		number(v)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(p.value(path))
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		p.plant(v.Elem(), path)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(p.value(path)))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		p.plant(v.Index(0), path+"[0]")
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		p.plant(value, path+".k")
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k").Convert(v.Type().Key()), value)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if f.IsExported() && name != "version" {
				p.plant(v.Field(i), strings.TrimSuffix(path+"."+name, "."))
			}
		}
	default:
	}
}

// number sets a number that Talos takes where a name stands for it.
func number(v reflect.Value) {
	text, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	if !ok {
		return
	}
	for i := range 1 << 16 {
		if v.CanInt() {
			v.SetInt(int64(i))
		} else {
			v.SetUint(uint64(i))
		}
		b, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		if err == nil && text.UnmarshalText(b) == nil {
			return
		}
	}
}

// in says which values, as they are or in base64, stand in a text.
func (p *planter) in(text string) map[string]bool {
	found := map[string]bool{}
	for v := range p.places {
		if strings.Contains(text, v) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(v))) {
			found[v] = true
		}
	}
	return found
}

func encode(t *testing.T, docs ...documents.Document) string {
	t.Helper()
	c, err := container.New(docs...)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func newDocument(t *testing.T, kind string) documents.Document {
	t.Helper()
	if kind == "v1alpha1" {
		return &v1alpha1.Config{ConfigVersion: "v1alpha1"}
	}
	p, err := load([]byte("apiVersion: v1alpha1\nkind: " + kind + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return p.Documents()[0]
}

// Every field that Talos itself takes for a secret, in every kind of document, is hidden by Diff and named by
// SecretValues. Controls: without the hiding each value shows, and values that are none show with it.
func TestI7DiffHidesWhatTalosRedacts(t *testing.T) {
	base := &v1alpha1.Config{ConfigVersion: "v1alpha1", MachineConfig: &v1alpha1.MachineConfig{MachineType: "worker"}}
	secrets, shown := 0, 0
	for _, kind := range append([]string{"v1alpha1"}, kinds...) {
		p := &planter{places: map[string]string{}}
		doc := newDocument(t, kind)
		p.plant(reflect.ValueOf(doc).Elem(), "")
		before, after := encode(t, base), encode(t, doc)
		if kind != "v1alpha1" {
			after = encode(t, base, doc)
		}
		m, err := ParseConfig([]byte(after))
		if err != nil {
			t.Errorf("%s: %v\n%s", kind, err, after)
			continue
		}
		redacted := m.provider.RedactSecrets("redacted")
		visible, talos := p.in(after), p.in(encode(t, redacted.Documents()...))
		got := diff(t, []byte(before), []byte(after))
		values := bytes.Join(SecretValues(secret.Of([]byte(after))), []byte("\n"))
		inDiff, inValues, unhidden := p.in(got), p.in(string(values)), p.in(showAll(t, before, after))
		for v := range visible {
			switch {
			case !unhidden[v]:
				t.Errorf("control: %s %s does not show without the hiding", kind, p.places[v])
			case talos[v] && inDiff[v]:
				shown++
			case talos[v]:
				continue // hidden by the conservative list
			case inDiff[v]:
				t.Errorf("%s %s shows: %s", kind, p.places[v], v)
			default:
				secrets++
			}
			if inDiff[v] == inValues[v] {
				t.Errorf("%s %s: shown %v, among the secret values %v", kind, p.places[v], inDiff[v], inValues[v])
			}
		}
	}
	if secrets < 30 || shown < 200 {
		t.Errorf("only %d secrets were planted and %d other values shown: the planting is broken", secrets, shown)
	}
}

// showAll is the diff with nothing hidden.
func showAll(t *testing.T, before, after string) string {
	t.Helper()
	a, err := ParseConfig([]byte(before))
	if err != nil {
		t.Fatal(err)
	}
	b, err := ParseConfig([]byte(after))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := a.diff(b, func([]string, leaf) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "")
}

// What the schema does not know to be secret and may well be.
func TestI7DiffHidesWhatMayBeSecret(t *testing.T) {
	const planted = "planted-value-here"
	random := "Zx8kQ2vL9" + "mNp4RtY7wBc3"
	for path, c := range map[string]struct{ old, repl string }{
		"machine.files[0].content":                  {"\"hello\"", planted},
		"machine.env.PROXY":                         {"  time:", "  env: {PROXY: " + planted + "}\n  time:"},
		"machine.env.name":                          {"  time:", "  env: {name: " + planted + "}\n  time:"},
		"machine.kubelet.extraArgs.bootstrap-token": {"v: \"2\"", "v: \"2\", bootstrap-token: " + planted},
		"machine.kubelet.credentialProviderConfig.providers[0].env[0].value": {"    extraArgs:", "    credentialProviderConfig: {providers: [{env: [{name: a, value: " + planted + "}]}]}\n    extraArgs:"},
		"cluster.inlineManifests[0].contents":                                {"cluster:\n", "cluster:\n  inlineManifests: [{name: a, contents: " + planted + "}]\n"},
		"cluster.extraManifestHeaders.X":                                     {"cluster:\n", "cluster:\n  extraManifestHeaders: {X: " + planted + "}\n"},
		"cluster.apiServer.env.A":                                            {"cluster:\n", "cluster:\n  apiServer: {env: {A: " + planted + "}}\n"},
		"machine.install.extraKernelArgs[0]":                                 {"  time:", "  install: {extraKernelArgs: [\"a=grpc://x?jointoken=" + planted + "\"]}\n  time:"},
		"machine.kubelet.extraConfig.staticPodURLHeader.X[0]":                {"maxPods: 110", "staticPodURLHeader: {X: [" + planted + "]}"},
		"machine.nodeAnnotations.a":                                          {"  time:", "  nodeAnnotations: {a: " + random + "}\n  time:"},
		"machine.nodeAnnotations.b":                                          {"  time:", "  nodeAnnotations: {b: \"https://u:" + planted + "@host/\"}\n  time:"},
		"machine.nodeAnnotations.c":                                          {"  time:", "  nodeAnnotations: {c: \"-----BEGIN EC PRIVATE KEY----- " + planted + "\"}\n  time:"},
		"machine.nodeAnnotations.d":                                          {"  time:", "  nodeAnnotations: {d: \"password: " + planted + "\"}\n  time:"},
		"machine.nodeAnnotations.[secret]":                                   {"  time:", "  nodeAnnotations: {" + random + ": a}\n  time:"},
		"machine.pods[0].spec.containers[0].env[0].value":                    {"  time:", "  pods: [{spec: {containers: [{env: [{name: A, value: " + planted + "}]}]}}]\n  time:"},
		"machine.baseRuntimeSpecOverrides.process.env[0]":                    {"  time:", "  baseRuntimeSpecOverrides: {process: {env: [A=" + planted + "]}}\n  time:"},
	} {
		t.Run(path, func(t *testing.T) {
			changed := []byte(sub(c.old, c.repl))
			got := diff(t, []byte(base), changed)
			if !strings.Contains(got, path+": ") || strings.Contains(got, planted) || strings.Contains(got, random) {
				t.Errorf("got\n%s", got)
			}
			if !strings.Contains(path, "[secret]") && !strings.Contains(got, "[secret ") {
				t.Errorf("does not say that a secret is concerned:\n%s", got)
			}
			back := diff(t, changed, []byte(base))
			if strings.Contains(back, planted) || strings.Contains(back, random) {
				t.Errorf("the other way:\n%s", back)
			}
		})
	}
}

func TestI7SecretChangesShowWithoutValues(t *testing.T) {
	with := func(token string) []byte {
		return []byte(sub("  type: worker\n", "  type: worker\n  token: "+token+"\n"))
	}
	for _, c := range []struct{ older, newer, want string }{
		{"\"\"", "one-token-here", "  machine.token: [secret changed]\n"},
		{"one-token-here", "two-token-here", "  machine.token: [secret changed]\n"},
		{"one-token-here", "\"\"", "  machine.token: [secret changed]\n"},
		{"one-token-here", "one-token-here", ""},
	} {
		if got := diff(t, with(c.older), with(c.newer)); got != c.want {
			t.Errorf("%s to %s: got\n%s", c.older, c.newer, got)
		}
	}
	key := "  wireguard" // added and removed as a whole
	wg := []byte(sub("  time:", "  network: {interfaces: [{interface: wg0, wireguard: {privateKey: one-key-here}}]}\n  time:"))
	if got := diff(t, []byte(base), wg); !strings.Contains(got, "+ machine.network.interfaces[0].wireguard.privateKey: [secret added]\n") {
		t.Errorf("%s: got\n%s", key, got)
	}
	if got := diff(t, wg, []byte(base)); !strings.Contains(got, "- machine.network.interfaces[0].wireguard.privateKey: [secret removed]\n") {
		t.Errorf("%s: got\n%s", key, got)
	}
}

func TestLooksSecret(t *testing.T) {
	for s, want := range map[string]bool{
		"abcdef.0123456789abcdef":                       true, // a bootstrap token
		"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIi": true,
		"ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a": true,
		"c2VjcmV0" + "LXZhbHVlLW9mLWEta2V5IQ==":         true,
		"6f5902ac237024bdd0c176cb93063dc4":              true,
		"user:pw@host":                                  true,
		"https://host:6443/path":                        false,
		"ghcr.io/siderolabs/kubelet:v1.36.2":            false,
		"ghcr.io/a/b@sha256:6f5902ac237024bdd0c176cb93063dc46f5902ac237024bdd0c176cb93063dc4": false,
		"MutatingAdmissionWebhookConfiguration":                                               false,
		"node.kubernetes.io/exclude-from-external-balancer":                                   false,
		"/dev/disk/by-id/nvme-Samsung_SSD_970_EVO_1TB":                                        false,
		"v1alpha1/HostnameConfig/":                                                            false,
		"kube-controller-manager-01.example.com":                                              false,
		"2001:db8:85a3::8a2e:370:7334/64":                                                     false,
		"11111111111111111111":                                                                false,
		"a password":                                                                          false,
		"password=a":                                                                          true,
		"":                                                                                    false,
	} {
		if got := looksSecret(s, false); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestSecretValues(t *testing.T) {
	g := configs(t)
	values := SecretValues(secret.Of(g.controlPlane))
	if len(values) < 12 {
		t.Errorf("%d values", len(values))
	}
	keys := 0
	for _, v := range values {
		if len(v) < 8 {
			t.Errorf("a short value: %q", v)
		}
		if bytes.Contains(v, []byte("PRIVATE KEY")) {
			keys++
		}
	}
	if keys < 5 {
		t.Errorf("%d private keys without their base64", keys)
	}
	if got := SecretValues(secret.Of([]byte("machine: {tokn: a, token: planted-value}\n"))); len(got) != 1 {
		t.Errorf("of a configuration that Talos refuses: %q", got)
	}
	if got := SecretValues(secret.Of([]byte{0})); got != nil {
		t.Errorf("of no text: %q", got)
	}
}
