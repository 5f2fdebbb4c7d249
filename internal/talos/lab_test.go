package talos_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"google.golang.org/grpc/codes"

	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/talos"
)

// limit is generous: it is reached only when something hangs.
const limit = 2 * time.Minute

// rig is a lab with one worker and its endpoint.
type rig struct {
	lab      *lab.Lab
	config   *talos.Config
	endpoint *lab.Node
	worker   *lab.Node
}

func newRig(t *testing.T, links lab.LinkMode) rig {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	l, err := lab.Up(ctx, lab.Config{
		Dir: filepath.Join(t.TempDir(), "lab"), Links: links, Workers: 1, Exe: exe, Tied: true,
		Timing: lab.Timing{Stop: 200 * time.Millisecond, Gap: 300 * time.Millisecond, Boot: 100 * time.Millisecond},
	})
	var no *lab.NotOfferedError
	if errors.As(err, &no) {
		t.Skip(no.Reason)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := l.Down(ctx); err != nil {
			t.Error(err)
		}
	})
	c, err := talos.LoadConfig(l.Talosconfig(), "")
	if err != nil {
		t.Fatal(err)
	}
	nodes := l.Nodes()
	return rig{lab: l, config: c, endpoint: nodes[0], worker: nodes[1]}
}

// both runs f over the direct route and through the endpoint.
func (r rig) both(t *testing.T, f func(t *testing.T, target talos.Target)) {
	t.Helper()
	t.Run("direct", func(t *testing.T) { f(t, r.direct()) })
	t.Run("via", func(t *testing.T) { f(t, r.via()) })
}

func (r rig) direct() talos.Target {
	return talos.Target{Address: r.worker.Address(), Route: dispatch.Direct}
}

func (r rig) via() talos.Target {
	return talos.Target{Address: r.worker.Address(), Route: dispatch.Via(r.endpoint.Address())}
}

func (r rig) dial(t *testing.T, target talos.Target, o talos.Options) *talos.Conn {
	t.Helper()
	c, err := talos.Dial(within(t), r.config, target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// read reads and must succeed.
func read(t *testing.T, c *talos.Conn) (dispatch.Reading, secret.Bytes) {
	t.Helper()
	r, config, err := c.Read(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return r, config
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// changed is the configuration with a comment more: other bytes, the same meaning.
func changed(config secret.Bytes, comment string) secret.Bytes {
	return secret.Of(append(bytes.Clone(config.Reveal()), []byte("# "+comment+"\n")...))
}

func noReboot() talos.ApplyParams { return talos.ApplyParams{Mode: dispatch.ModeNoReboot} }

func TestLabReadingAndApply(t *testing.T) {
	r := newRig(t, lab.LinksNone)
	r.both(t, func(t *testing.T, target talos.Target) {
		c := r.dial(t, target, talos.Options{TCPUserTimeout: 10 * time.Second})
		before, config := read(t, c)
		t.Logf("%+v", before)
		if before.Role != dispatch.Worker || before.Stage != "running" || !before.Ready || before.Omni {
			t.Fatalf("reading: %+v", before)
		}
		if before.TalosVersion != "v1.13.6" || before.NodeID == "" || before.ClusterID == "" || before.HostName != r.worker.Name() {
			t.Fatalf("reading: %+v", before)
		}
		if !before.Active.Present || before.Active.Digest != dispatch.Digest(config.Reveal()) {
			t.Fatalf("active: %+v", before.Active)
		}
		if !slices.Contains(before.Addresses, r.worker.Address()) {
			t.Errorf("addresses %v lack %s", before.Addresses, r.worker.Address())
		}
		if before.Active.Created.Nanosecond() == 0 {
			t.Errorf("creation time %v was cut to seconds", before.Active.Created)
		}
		wanted := changed(config, "first over "+string(target.Route))
		warnings, err := c.DryRun(within(t), wanted)
		if err != nil || len(warnings) != 0 {
			t.Fatalf("dry run: %v %v", warnings, err)
		}
		if unchanged, _ := read(t, c); unchanged.Active != before.Active {
			t.Fatalf("a dry run changed %+v into %+v", before.Active, unchanged.Active)
		}
		out := c.Apply(within(t), wanted, noReboot())
		if out.Response.Class != dispatch.Accepted || out.Response.Code != "OK" || out.NeverLeft || out.Err != nil {
			t.Fatalf("apply: %+v", out)
		}
		if out.Response.Text != "Applied configuration without a reboot" || out.Response.Withheld {
			t.Errorf("text %q, withheld %v", out.Response.Text, out.Response.Withheld)
		}
		after, got := read(t, c)
		if !bytes.Equal(got.Reveal(), wanted.Reveal()) || after.Active.Version != before.Active.Version+1 {
			t.Fatalf("after: %+v", after)
		}
		if !after.Quiescent() || !after.Persistent.Present {
			t.Fatalf("after: %+v", after)
		}
	})
}

func TestLabRejections(t *testing.T) {
	r := newRig(t, lab.LinksNone)
	unknown := "\n---\napiVersion: v1alpha1\nkind: EnvironmentConfig\nvariables:\n  marker-secret: value\nunknownKey: marker-secret\n"
	r.both(t, func(t *testing.T, target talos.Target) {
		c := r.dial(t, target, talos.Options{})
		before, config := read(t, c)
		bad := secret.Of(append(bytes.Clone(config.Reveal()), unknown...))
		out := c.Apply(within(t), bad, noReboot())
		if out.Response.Class != dispatch.RejectedDef || out.Response.Code != "InvalidArgument" || out.NeverLeft || out.Err != nil {
			t.Fatalf("apply: %+v", out)
		}
		if out.Response.Text != "" || !out.Response.Withheld {
			t.Errorf("the answer quotes the configuration and must be withheld: %+v", out.Response)
		}
		if _, err := c.DryRun(within(t), bad); err == nil || strings.Contains(err.Error(), "marker-secret") {
			t.Errorf("dry run: %v", err)
		}
		// The connection serves further calls, and the node is as it was.
		if after, _ := read(t, c); after.Active != before.Active {
			t.Fatalf("a rejection changed %+v into %+v", before.Active, after.Active)
		}
	})
}

// A reader may not read the configuration, and the error says what it takes.
func TestLabReader(t *testing.T) {
	r := newRig(t, lab.LinksNone)
	file, err := clientconfig.Open(r.lab.Talosconfig())
	if err != nil {
		t.Fatal(err)
	}
	for name := range file.Contexts {
		if !strings.HasSuffix(name, "reader") {
			continue
		}
		c, err := talos.LoadConfig(r.lab.Talosconfig(), name)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := talos.Dial(within(t), c, r.direct(), talos.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, _, err = conn.Read(within(t))
		var e *talos.CallError
		if !errors.As(err, &e) || e.Code != codes.PermissionDenied || e.Text != "not authorized" {
			t.Errorf("reading as a reader: %v", err)
		}
		return
	}
	t.Fatal("the lab has no context of a reader")
}
