package lab_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/clewops/clew/internal/lab"
)

// patience is how long a test waits for what has to happen; a loaded machine may need much of it.
const patience = 90 * time.Second

// quick keeps the sequences short.
var quick = lab.Timing{Stop: 300 * time.Millisecond, Gap: 300 * time.Millisecond, Boot: 100 * time.Millisecond}

// rig is a lab with clients of its three roles, made of the machinery's own client alone.
type rig struct {
	*lab.Lab

	t                       *testing.T
	admin, operator, reader *client.Client
}

// labDir returns an empty directory with a short path, removed at the end.
func labDir(t *testing.T) string {
	t.Helper()

	//lint:ignore usetesting its path is too long for sockets
	dir, err := os.MkdirTemp("", "lab-test-")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })

	return filepath.Join(dir, "lab")
}

// testBinary is what the nodes of a test are started from.
func testBinary(t *testing.T) string {
	t.Helper()

	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	return exe
}

// newRig makes a lab that ends with the test, and with this process whatever happens to it.
func newRig(t *testing.T, cfg lab.Config) *rig {
	t.Helper()

	cfg.Dir, cfg.Exe, cfg.Tied = labDir(t), testBinary(t), true
	if cfg.Timing == (lab.Timing{}) {
		cfg.Timing = quick
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	l, err := lab.Up(ctx, cfg)
	if err != nil {
		t.Fatalf("making a lab: %v", err)
	}

	t.Cleanup(func() {
		if t.Failed() {
			showLogs(t, l)
		}

		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()

		if err := l.Down(ctx); err != nil {
			t.Errorf("removing the lab: %v", err)
		}
	})

	r := &rig{Lab: l, t: t}
	r.admin = r.client(lab.ClusterName)
	r.operator = r.client(lab.ClusterName + "-operator")
	r.reader = r.client(lab.ClusterName + "-reader")

	return r
}

func showLogs(t *testing.T, l *lab.Lab) {
	for _, n := range l.Nodes() {
		if b, err := os.ReadFile(filepath.Join(n.Dir(), "log")); err == nil {
			t.Logf("log of %s:\n%s", n.Name(), b)
		}
	}
}

// client makes a client of one context; endpoints replace the context's own.
func (r *rig) client(contextName string, endpoints ...string) *client.Client {
	r.t.Helper()

	opts := []client.OptionFunc{client.WithConfigFromFile(r.Talosconfig()), client.WithContextName(contextName)}
	if len(endpoints) > 0 {
		opts = append(opts, client.WithEndpoints(endpoints...))
	}

	c, err := client.New(r.t.Context(), opts...)
	if err != nil {
		r.t.Fatal(err)
	}

	r.t.Cleanup(func() { must(r.t, c.Close()) })

	return c
}

// direct is an admin's client that talks to the node itself.
func (r *rig) direct(n *lab.Node) *client.Client { return r.client(lab.ClusterName, n.Address()) }

func (r *rig) node(name string) *lab.Node {
	r.t.Helper()

	n, err := r.Node(name)
	if err != nil {
		r.t.Fatal(err)
	}

	return n
}

// on sends a call to one node through the endpoint.
func on(t *testing.T, n *lab.Node) context.Context {
	return client.WithNode(t.Context(), n.Address())
}

// applyRequest fills a request; the zero mode of the protocol is never left to chance.
func applyRequest(mode machine.ApplyConfigurationRequest_Mode, data []byte) *machine.ApplyConfigurationRequest {
	return &machine.ApplyConfigurationRequest{Mode: mode, Data: data}
}

const (
	noReboot = machine.ApplyConfigurationRequest_NO_REBOOT
	auto     = machine.ApplyConfigurationRequest_AUTO
	staged   = machine.ApplyConfigurationRequest_STAGED
	reboot   = machine.ApplyConfigurationRequest_REBOOT
	try      = machine.ApplyConfigurationRequest_TRY
)

// apply expects exactly one answer.
func apply(ctx context.Context, c *client.Client, req *machine.ApplyConfigurationRequest, opts ...grpc.CallOption) (*machine.ApplyConfiguration, error) {
	resp, err := c.ApplyConfiguration(ctx, req, opts...)
	if err != nil {
		return nil, err
	}

	if len(resp.GetMessages()) != 1 {
		return nil, fmt.Errorf("%d answers", len(resp.GetMessages()))
	}

	return resp.GetMessages()[0], nil
}

// mustApply applies without a reboot and expects it to be accepted.
func (r *rig) mustApply(t *testing.T, n *lab.Node, data []byte) {
	t.Helper()

	if _, err := apply(on(t, n), r.admin, applyRequest(noReboot, data)); err != nil {
		t.Fatalf("apply on %s: %v", n.Name(), err)
	}
}

func wantCode(t *testing.T, err error, want codes.Code) {
	t.Helper()

	if got := client.StatusCode(err); got != want {
		t.Errorf("code %v, want %v (%v)", got, want, err)
	}
}

func wantText(t *testing.T, err error, want string) {
	t.Helper()

	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func get(ctx context.Context, c *client.Client, id resource.ID) (*configres.MachineConfig, error) {
	return safe.StateGetByID[*configres.MachineConfig](ctx, c.COSI, id)
}

// mustGet reads one MachineConfig of a node through the endpoint.
func (r *rig) mustGet(t *testing.T, n *lab.Node, id resource.ID) *configres.MachineConfig {
	t.Helper()

	cfg, err := get(on(t, n), r.admin, id)
	if err != nil {
		t.Fatalf("reading %s of %s: %v", id, n.Name(), err)
	}

	return cfg
}

// bytesOf returns what a MachineConfig holds, as it was submitted.
func bytesOf(t *testing.T, cfg *configres.MachineConfig) []byte {
	t.Helper()

	b, err := cfg.Provider().Bytes()
	if err != nil {
		t.Fatal(err)
	}

	return b
}

// current is the node's active configuration.
func (r *rig) current(t *testing.T, n *lab.Node) []byte {
	t.Helper()

	return bytesOf(t, r.mustGet(t, n, configres.ActiveID))
}

// edit changes the v1alpha1 document; it loses comments, as an encoder does.
func edit(t *testing.T, data []byte, f func(*v1alpha1.Config)) []byte {
	t.Helper()

	cfg, err := configloader.NewFromBytes(data)
	if err != nil {
		t.Fatal(err)
	}

	out, err := cfg.PatchV1Alpha1(func(c *v1alpha1.Config) error {
		f(c)

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	b, err := out.Bytes()
	if err != nil {
		t.Fatal(err)
	}

	return b
}

func withLabel(t *testing.T, data []byte, value string) []byte {
	t.Helper()

	return edit(t, data, func(c *v1alpha1.Config) {
		c.MachineConfig.MachineNodeLabels = map[string]string{"clew.dev/test": value}
	})
}

// withFile is a change that only a boot takes up.
func withFile(t *testing.T, data []byte, content string) []byte {
	t.Helper()

	return edit(t, data, func(c *v1alpha1.Config) {
		c.MachineConfig.MachineFiles = []*v1alpha1.MachineFile{
			{FileContent: content, FilePath: "/var/lab-test", FileOp: "create", FilePermissions: 0o644},
		}
	})
}

// marked changes the bytes and nothing else.
func marked(data []byte, marker string) []byte {
	return append(append([]byte(nil), data...), "\n# "+marker+"\n"...)
}

// versions are the resource versions of both ids; 0 means that there is no such resource.
func versions(t *testing.T, n *lab.Node) (active, persistent uint64) {
	t.Helper()

	s, err := n.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	return s.Active, s.Persistent
}

// eventually waits for cond.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()

	deadline := time.After(patience)

	for !cond() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			t.Fatalf("waited for %s", what)
		}
	}
}

// rebooted waits for another boot than the one named, in stage running and ready.
func rebooted(t *testing.T, n *lab.Node, bootID string) lab.Status {
	t.Helper()

	var s lab.Status

	eventually(t, "another boot of "+n.Name(), func() bool {
		var err error
		s, err = n.Status(t.Context())

		return err == nil && s.Up && s.BootID != bootID && s.Ready && s.Stage == "running"
	})

	return s
}

// holdReboots makes the node's next sequence stay where the API still answers, until letGo.
func holdReboots(t *testing.T, n *lab.Node) {
	t.Helper()

	held := quick
	held.Stop = time.Hour
	must(t, n.SetTiming(t.Context(), held))
}

// letGo asks for another reboot, which takes over the one that is held.
func letGo(t *testing.T, n *lab.Node) {
	t.Helper()
	must(t, n.Reboot(t.Context(), lab.RebootOptions{Stop: time.Millisecond}))
}

// fresh gives a node an empty STATE and a new process.
func fresh(t *testing.T, n *lab.Node) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	if err := n.Restart(ctx, lab.RestartOptions{EmptyState: true}); err != nil {
		t.Fatal(err)
	}
}

// reachable waits until the endpoint's cached connection to a node works again: after a boot it may lag behind.
func (r *rig) reachable(t *testing.T, n *lab.Node) {
	t.Helper()

	eventually(t, n.Name()+" to be reached through the endpoint", func() bool {
		_, err := r.admin.Version(on(t, n))

		return err == nil
	})
}

func machineStatus(ctx context.Context, c *client.Client) (*runtime.MachineStatus, error) {
	return safe.StateGetByID[*runtime.MachineStatus](ctx, c.COSI, runtime.MachineStatusID)
}

// facts are the claims about real nodes that the tests hold the lab to. Their ids are listed in docs/lab.md, and
// TestFactsAreListed keeps both lists the same.
func fact(t *testing.T, id, claim string, check func(t *testing.T)) {
	t.Helper()
	t.Run(id, func(t *testing.T) {
		t.Log(claim)
		check(t)
	})
}

func needRoot(t *testing.T) {
	t.Helper()

	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
}
