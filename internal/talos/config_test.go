package talos

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/refusal"
)

// generated are the configurations that Talos' own generator makes for a cluster of the test's own.
type generated struct{ worker, commented, controlPlane []byte }

var cluster = sync.OnceValues(func() (generated, error) {
	input, err := generate.NewInput("lab", "https://10.5.0.2:6443", constants.DefaultKubernetesVersion,
		generate.WithSysctls(map[string]string{"net.core.somaxconn": "4096"}))
	if err != nil {
		return generated{}, err
	}
	var g generated
	for to, what := range map[*[]byte]struct {
		machine  machine.Type
		comments encoder.CommentsFlags
	}{
		&g.worker:       {machine.TypeWorker, encoder.CommentsDisabled},
		&g.commented:    {machine.TypeWorker, encoder.CommentsAll},
		&g.controlPlane: {machine.TypeControlPlane, encoder.CommentsDisabled},
	} {
		p, err := input.Config(what.machine)
		if err != nil {
			return generated{}, err
		}
		if *to, err = p.EncodeBytes(encoder.WithComments(what.comments)); err != nil {
			return generated{}, err
		}
	}
	return g, nil
})

func configs(t testing.TB) generated {
	t.Helper()
	g, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// edit replaces exactly one place of a text.
func edit(t testing.TB, b []byte, old, repl string) []byte {
	t.Helper()
	if n := bytes.Count(b, []byte(old)); n != 1 {
		t.Fatalf("%q stands %d times in the configuration", old, n)
	}
	return bytes.Replace(b, []byte(old), []byte(repl), 1)
}

func add(b []byte, docs ...string) []byte {
	return []byte(strings.Join(append([]string{string(b)}, docs...), "---\n"))
}

func wantRefusal(t testing.TB, err error, code, message string) {
	t.Helper()
	r, ok := refusal.As(err)
	if !ok {
		t.Fatalf("got %v, want the refusal %s", err, code)
	}
	if r.Code != code || !strings.Contains(r.Message, message) {
		t.Errorf("got %s: %s\nwant %s: ...%s...", r.Code, r.Message, code, message)
	}
}

func TestParseConfigTakesWhatTalosTakes(t *testing.T) {
	g := configs(t)
	for name, b := range map[string][]byte{
		"as generated":        g.worker,
		"with comments":       g.commented,
		"line ends of DOS":    bytes.ReplaceAll(g.worker, []byte("\n"), []byte("\r\n")),
		"several documents":   add(g.worker, "apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: a\nurl: tcp://10.0.0.1:1\n"),
		"documents reordered": add([]byte("apiVersion: v1alpha1\nkind: WatchdogTimerConfig\ndevice: /dev/watchdog0\n"), string(g.worker)),
		"null documents":      add([]byte("---\n---\n# nothing\n"), string(g.worker), "---\n"),
		"byte order mark":     append([]byte("\ufeff"), g.worker...),
		"anchors":             add(g.worker, "apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: &n a\nurl: tcp://10.0.0.1:1\n", "apiVersion: v1alpha1\nkind: StaticHostConfig\nname: 10.0.0.1\nhostnames: [&h one, *h]\n"),
	} {
		t.Run(name, func(t *testing.T) {
			m, err := ParseConfig(b)
			if err != nil {
				t.Fatal(err)
			}
			if m.Role() != dispatch.Worker || m.ClusterID() == "" || m.Omni() || !bytes.Equal(m.Bytes().Reveal(), b) {
				t.Errorf("role %q, cluster %q, Omni %v", m.Role(), m.ClusterID(), m.Omni())
			}
		})
	}
	m, err := ParseConfig(g.controlPlane)
	if err != nil || m.Role() != dispatch.ControlPlane {
		t.Errorf("control plane: role %q, %v", m.Role(), err)
	}
}

func TestOmni(t *testing.T) {
	g := configs(t)
	siderolink := "apiVersion: v1alpha1\nkind: SideroLinkConfig\napiUrl: grpc://omni.example:8090?jointoken=a\n"
	argument := edit(t, g.worker, "        wipe: false\n", "        wipe: false\n        extraKernelArgs: [console=ttyS0, \"siderolink.api=grpc://omni.example:8090\"]\n")
	for name, b := range map[string][]byte{"document": add(g.worker, siderolink), "kernel argument": argument} {
		m, err := ParseConfig(b)
		if err != nil || !m.Omni() {
			t.Errorf("%s: not seen (%v)", name, err)
		}
	}
}

func TestParseConfigRefuses(t *testing.T) {
	g := configs(t)
	hostname := "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n"
	for name, c := range map[string]struct {
		b             []byte
		code, message string
	}{
		"nothing":               {nil, "config-empty", "empty"},
		"only comments":         {[]byte("# nothing\n"), "config-empty", "empty"},
		"only null documents":   {[]byte("---\n---\n"), "config-empty", "empty"},
		"no v1alpha1 document":  {[]byte(hostname), "config-incomplete", "no v1alpha1 document"},
		"unknown key":           {edit(t, g.worker, "    certSANs: []\n", "    certSAMs: []\n    sysctl: {a: b}\n"), "config-invalid", "unknown keys: machine.certSAMs, machine.sysctl.a"},
		"unknown kind":          {add(g.worker, "apiVersion: v1alpha1\nkind: NoSuchConfig\n"), "config-invalid", `"NoSuchConfig" "v1alpha1": not registered`},
		"unknown version":       {add(g.worker, "apiVersion: v9\nkind: LinkConfig\nname: a\n"), "config-invalid", "not registered"},
		"document without kind": {add(g.worker, "apiVersion: v2\n"), "config-invalid", "missing kind"},
		"document twice":        {add(g.worker, hostname), "config-invalid", "duplicate document"},
		"v1alpha1 twice":        {add(g.worker, string(g.worker)), "config-invalid", "duplicate document"},
		"no mapping":            {[]byte("- a\n"), "config-invalid", "expected a YAML document at line 1"},
		"no YAML":               {[]byte("a: [\n"), "config-invalid", "not valid YAML"},
		"a key twice":           {[]byte("machine:\n  type: worker\n  type: worker\n"), "config-invalid", "already defined"},
		"a value of wrong type": {edit(t, g.worker, "wipe: false", "wipe: [1]"), "config-invalid", "cannot construct"},
		"64 MiB":                {bytes.Repeat([]byte("a: b\n#"), 64<<20/6), "config-too-large", "are too many"},
		"just above the limit":  {append(bytes.Repeat([]byte("#"), MaxConfig), '\n'), "config-too-large", "are too many"},
		"binary":                {[]byte{0x7f, 'E', 'L', 'F', 0, 1, 2}, "config-not-text", "UTF-8"},
		"latin 1":               {[]byte("machine: {type: w\xf6rker}\n"), "config-not-text", "UTF-8"},
		"UTF-16":                {[]byte("\xff\xfea\x00:\x00"), "config-not-text", "UTF-8"},
		"NUL":                   {[]byte("machine: a\x00b\n"), "config-not-text", "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseConfig(c.b)
			wantRefusal(t, err, c.code, c.message)
			_, err = Validate(c.b)
			wantRefusal(t, err, c.code, c.message)
		})
	}
}

type toBeInstalled struct{ runningMetal }

func (toBeInstalled) RequiresInstall() bool { return true }

func TestValidate(t *testing.T) {
	g := configs(t)
	for name, b := range map[string][]byte{"worker": g.worker, "control plane": g.controlPlane, "commented": g.commented} {
		if warnings, err := Validate(b); err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, %v", name, warnings, err)
		}
	}
	warned := edit(t, g.worker, "        wipe: false\n", "        wipe: false\n        extensions: [{image: ghcr.io/siderolabs/gvisor:v1}]\n")
	warnings, err := Validate(warned)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "deprecated") {
		t.Errorf("warnings %q, %v", warnings, err)
	}
	// The generated worker names no disk: a running node has one. Control: a node to be installed is refused.
	m, err := ParseConfig(g.worker)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.provider.Validate(toBeInstalled{}); err == nil {
		t.Error("an installation without a disk passes")
	}
	for name, c := range map[string]struct {
		b       []byte
		message string
	}{
		"machine type": {edit(t, g.worker, "    type: worker\n", "    type: laborer\n"), `unknown machine type "laborer"`},
		"two errors": {
			edit(t, edit(t, g.worker, "    type: worker\n", "    type: worker\n    nodeLabels: {\"a/b/c\": x}\n"), "dnsDomain: cluster.local", "dnsDomain: ..."),
			`"..." is not a valid DNS name; invalid machine node labels`,
		},
		"no machine section": {[]byte("version: v1alpha1\ncluster: null\n"), "machine instructions are required"},
		"other document":     {add(g.worker, "apiVersion: v1alpha1\nkind: WatchdogTimerConfig\ndevice: \"\"\n"), "WatchdogTimerConfig"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Validate(c.b)
			wantRefusal(t, err, "config-invalid", c.message)
			if strings.ContainsAny(err.Error(), "\n\t*") {
				t.Errorf("not one line: %q", err)
			}
		})
	}
}

// Bombs are refused before they cost anything: each within a second even on a busy machine, where the expansion would
// take minutes or all memory.
func TestBombsAreRefusedCheaply(t *testing.T) {
	laughs := "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
	for i := 1; i < 20; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9)[:9*len(fmt.Sprintf("*a%d, ", i-1))-2])
	}
	bytesBomb := "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a, ", 1000) + "*a]\n"
	for name, s := range map[string]string{
		"billion laughs":          laughs,
		"many copies of one text": bytesBomb,
		"an anchor in itself":     "a: &a [*a]\n",
		"anchors in a circle":     "a: &a {b: &b {c: *a}}\n",
		"deep flow":               "a: " + strings.Repeat("[", 101) + strings.Repeat("]", 101),
		"very deep flow":          strings.Repeat("[", MaxConfig),
		"deep blocks":             strings.Repeat("- ", MaxConfig/2),
		"deep through aliases":    "a: &a " + strings.Repeat("[", 60) + strings.Repeat("]", 60) + "\nb: " + strings.Repeat("[", 60) + "*a" + strings.Repeat("]", 60),
		"millions of entries":     "[" + strings.Repeat("a,", MaxConfig/2-1),
		"millions of lines":       strings.Repeat("a: 1\n", MaxConfig/5),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := ParseConfig([]byte(s))
			if _, ok := refusal.As(err); !ok {
				t.Errorf("got %v, want a refusal", err)
			}
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("took %s", d)
			}
		})
	}
	// Control: the same shapes inside the limits pass the guard.
	for name, s := range map[string]string{
		"few aliases": "a: &a [x, y]\nb: [*a, *a]\n",
		"depth":       strings.Repeat("[", 99) + strings.Repeat("]", 99),
	} {
		if _, err := readDocuments([]byte(s)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An error names what is wrong and where, never the value of a secret: not of a mistyped key, not of a value in the
// wrong place, not of one that validation quotes.
func TestI7ErrorsKeepSecrets(t *testing.T) {
	g := configs(t)
	const planted = "plantedvalue"
	token := "    token: " + planted + "-token\n"
	type place struct {
		b    []byte
		want string
	}
	withToken := replaceLine(t, g.worker, "    token: ", token)
	for name, c := range map[string]place{
		"unknown key":       {edit(t, withToken, token, "    tokn: "+planted+"\n"), "machine.tokn"},
		"unknown tree":      {edit(t, withToken, token, token+"    files2: [{content: "+planted+", a: {b: "+planted+"}}]\n"), "machine.files2[].content"},
		"wrong type":        {edit(t, withToken, "certSANs: []", "certSANs: "+planted), "cannot construct"},
		"not base64":        {edit(t, withToken, token, token+"    acceptedCAs: [{crt: "+planted+"!}]\n"), "base64"},
		"quoted by Talos":   {edit(t, withToken, token, token+"    network: {interfaces: [{interface: wg0, wireguard: {privateKey: "+planted+"}}]}\n"), "wrong key"},
		"secret as a type":  {edit(t, withToken, "    type: worker\n", "    type: "+planted+"-token\n"), "unknown machine type"},
		"in a URL":          {edit(t, withToken, "    clusterName: lab\n", "    externalCloudProvider: {enabled: true, manifests: [\"ftp://user:"+planted+"@\"]}\n"), "manifest url"},
		"in an invalid URL": {edit(t, withToken, "https://10.5.0.2:6443", "\"https://user:"+planted+"@10.5 .0.2\""), "invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Validate(c.b)
			wantRefusal(t, err, "config-invalid", c.want)
			if strings.Contains(err.Error(), planted) || strings.Contains(err.Error(), planted[:7]) {
				t.Errorf("the error shows the value: %v", err)
			}
		})
	}
	// Control: values that are none are shown, so that the test above would see one.
	_, err := Validate(edit(t, g.worker, "    type: worker\n", "    type: "+planted+"\n"))
	wantRefusal(t, err, "config-invalid", planted)
}

// replaceLine replaces the first line that begins so.
func replaceLine(t testing.TB, b []byte, prefix, line string) []byte {
	t.Helper()
	lines := strings.SplitAfter(string(b), "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, prefix) })
	if i < 0 {
		t.Fatalf("no line begins with %q", prefix)
	}
	lines[i] = line
	return []byte(strings.Join(lines, ""))
}
