package lab_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"google.golang.org/grpc/codes"

	"github.com/clewops/clew/internal/lab"
)

// TestFidelitySequences compares the other operations with what is known of real nodes.
func TestFidelitySequences(t *testing.T) {
	t.Parallel()

	r := newRig(t, lab.Config{})
	cp, w := r.node("cp-1"), r.node("worker-1")

	t.Run("reads", func(t *testing.T) { operationReads(t, r, cp, w) })
	t.Run("services", func(t *testing.T) { operationServices(t, r, w) })
	t.Run("reboot", func(t *testing.T) { operationReboot(t, r, w) })
	t.Run("upgrade", func(t *testing.T) { operationUpgrade(t, r, w) })
	t.Run("away", func(t *testing.T) { operationAway(t, r, w) })
}

func operationReads(t *testing.T, r *rig, cp, w *lab.Node) {
	fact(t, "S1", "etcd is asked on control planes; a worker answers Unimplemented", func(t *testing.T) {
		_, err := r.admin.EtcdMemberList(on(t, w), &machine.EtcdMemberListRequest{})
		wantCode(t, err, codes.Unimplemented)

		resp, err := r.reader.EtcdMemberList(on(t, cp), &machine.EtcdMemberListRequest{})
		if err != nil || len(resp.GetMessages()[0].GetMembers()) != 1 {
			t.Errorf("members %v, %v", resp, err)
		}
	})
	fact(t, "S2", "the boot id is read as a file, by admins alone", func(t *testing.T) {
		status, err := w.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		if got, err := bootID(on(t, w), r.admin); err != nil || got != status.BootID {
			t.Errorf("boot id %q, %v; the node says %q", got, err, status.BootID)
		}

		_, err = bootID(on(t, w), r.operator)
		wantCode(t, err, codes.PermissionDenied)
	})
	fact(t, "S3", "a reader may neither reboot, shut down, reset, upgrade nor restart a service", func(t *testing.T) {
		for name, err := range map[string]error{
			"reboot":   r.reader.Reboot(on(t, w)),
			"shutdown": r.reader.Shutdown(on(t, w)),
			"reset":    r.operator.Reset(on(t, w), false, true),
			"upgrade":  second(r.operator.Upgrade(on(t, w), "example/installer:v9.9.9", false, false)),
			"service":  second(r.reader.ServiceRestart(on(t, w), "kubelet")),
			"meta":     r.reader.MetaWrite(on(t, w), 10, nil),
		} {
			if client.StatusCode(err) != codes.PermissionDenied {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	fact(t, "S4", "what is not there says so: Unimplemented, after the role was checked", func(t *testing.T) {
		_, err := r.admin.Memory(on(t, w))
		wantCode(t, err, codes.Unimplemented)
	})
}

func second[T any](_ T, err error) error { return err }

func bootID(ctx context.Context, c *client.Client) (string, error) {
	f, err := c.Read(ctx, "/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	defer f.Close()

	b, err := io.ReadAll(f)

	return strings.TrimSpace(string(b)), err
}

func operationServices(t *testing.T, r *rig, w *lab.Node) {
	fact(t, "S5", "only the kubelet restarts by API; for others the code is Unknown", func(t *testing.T) {
		_, err := r.admin.ServiceRestart(on(t, w), "apid")
		wantCode(t, err, codes.Unknown)
		wantText(t, err, "doesn't support restart operation via API")

		_, err = r.admin.ServiceRestart(on(t, w), "nothing")
		wantCode(t, err, codes.Unknown)
		wantText(t, err, "not defined")

		if _, err := r.operator.ServiceRestart(on(t, w), "kubelet"); err != nil {
			t.Fatal(err)
		}

		s, err := w.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		if s.Ready && s.Stage == "running" {
			services, err := r.admin.ServiceInfo(on(t, w), "kubelet")
			if err != nil || len(services) != 1 || services[0].Service.GetState() != "Running" {
				t.Errorf("ready, but the kubelet is %v (%v)", services, err)
			}
		}

		if err := w.WaitReady(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// watcher collects a node's events as "Sequence reboot START" and so on, until the stream breaks.
type watcher struct {
	seen chan string
	all  []string
}

func watchEvents(t *testing.T, ctx context.Context, c *client.Client, opts ...client.EventsOptionFunc) *watcher {
	t.Helper()

	w := &watcher{seen: make(chan string, 4096)}
	results := make(chan client.EventResult)

	if err := c.EventsWatchV2(ctx, results, opts...); err != nil {
		t.Fatal(err)
	}

	go func() {
		defer close(w.seen)

		for {
			select {
			case r := <-results:
				if r.Error != nil {
					return // the node has gone
				}

				w.seen <- describe(r.Event)
			case <-ctx.Done():
				return
			}
		}
	}()

	return w
}

func describe(e client.Event) string {
	switch p := e.Payload.(type) {
	case *machine.SequenceEvent:
		failed := ""
		if p.GetError() != nil {
			failed = " " + p.GetError().GetCode().String()
		}

		return fmt.Sprintf("sequence %s %s%s actor=%t", p.GetSequence(), p.GetAction(), failed, e.ActorID != "")
	case *machine.PhaseEvent:
		return fmt.Sprintf("phase %s %s", p.GetPhase(), p.GetAction())
	case *machine.TaskEvent:
		return fmt.Sprintf("task %s %s", p.GetTask(), p.GetAction())
	case *machine.MachineStatusEvent:
		return fmt.Sprintf("stage %s ready=%t", p.GetStage(), p.GetStatus().GetReady())
	default:
		return fmt.Sprintf("%T", p)
	}
}

// until collects events up to one that begins with prefix.
func (w *watcher) until(t *testing.T, prefix string) {
	t.Helper()

	deadline := time.After(patience)

	for {
		select {
		case e, ok := <-w.seen:
			if !ok {
				t.Fatalf("the stream ended before %q; seen:\n%s", prefix, strings.Join(w.all, "\n"))
			}

			w.all = append(w.all, e)

			if strings.HasPrefix(e, prefix) {
				return
			}
		case <-deadline:
			t.Fatalf("no %q; seen:\n%s", prefix, strings.Join(w.all, "\n"))
		}
	}
}

func operationReboot(t *testing.T, r *rig, w *lab.Node) {
	fact(t, "S6", "Reboot answers an actor and nothing more; its events run from START over cleanup and stage rebooting to stopAllServices, then the stream breaks", func(t *testing.T) {
		before, err := w.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		direct := r.direct(w)
		events := watchEvents(t, t.Context(), direct, client.WithTailEvents(-1))
		events.until(t, "sequence boot STOP")
		holdReboots(t, w)

		resp, err := r.operator.RebootWithResponse(on(t, w))
		if err != nil {
			t.Fatal(err)
		}

		if resp.GetMessages()[0].GetActorId() == "" {
			t.Error("no actor")
		}

		events.until(t, "sequence reboot START actor=true")
		events.until(t, "phase cleanup START")
		events.until(t, "stage REBOOTING ready=true")

		s, err := machineStatus(t.Context(), direct)
		if err != nil {
			t.Fatal(err)
		}

		if s.TypedSpec().Stage.String() != "rebooting" || !s.TypedSpec().Status.Ready {
			t.Errorf("while it goes down the status is %+v", s.TypedSpec())
		}

		letGo(t, w)
		events.until(t, "task stopAllServices START")
		eventually(t, "the stream to break", func() bool { _, ok := <-events.seen; return !ok })

		after := rebooted(t, w, before.BootID)
		if after.PID != before.PID || after.NodeID != before.NodeID || after.Version != before.Version {
			t.Errorf("before %+v\nafter %+v", before, after)
		}
	})
	fact(t, "S7", "after a boot the past events are gone, and the boot's own are there", func(t *testing.T) {
		events := watchEvents(t, t.Context(), r.direct(w), client.WithTailEvents(-1))
		events.until(t, "sequence initialize START")
		events.until(t, "sequence boot START")
		events.until(t, "stage RUNNING ready=true")

		if strings.Contains(strings.Join(events.all, "\n"), "reboot") {
			t.Errorf("events of an earlier boot:\n%s", strings.Join(events.all, "\n"))
		}
	})
	fact(t, "S8", "a sequence that finds the lock taken has been answered OK; a LOCKED event without an actor is the only trace", func(t *testing.T) {
		before, err := w.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		events := watchEvents(t, t.Context(), r.direct(w))

		// An upgrade that takes its time, so that it is surely still running when the reboot is asked for.
		must(t, w.Reboot(t.Context(), lab.RebootOptions{Version: "v1.13.7", Stop: time.Hour}))
		events.until(t, "stage UPGRADING")
		must(t, r.direct(w).Reboot(t.Context()))
		events.until(t, "sequence reboot NOOP "+common.Code_LOCKED.String()+" actor=false")

		// A configuration that reboots takes over whatever runs.
		data := bytesOf(t, r.mustGet(t, w, configres.ActiveID))
		if _, err := apply(on(t, w), r.admin, applyRequest(reboot, data)); err != nil {
			t.Fatal(err)
		}

		events.until(t, "sequence upgrade NOOP "+common.Code_CANCELED.String()+" actor=true")

		if after := rebooted(t, w, before.BootID); after.Version != before.Version {
			t.Errorf("version %s: the interrupted upgrade went on", after.Version)
		}
	})
	fact(t, "S9", "a successful apply publishes no event", func(t *testing.T) {
		r.reachable(t, w)

		events := watchEvents(t, t.Context(), r.direct(w), client.WithTailEvents(-1))
		events.until(t, "stage RUNNING ready=true")
		r.mustApply(t, w, marked(r.current(t, w), "quiet"))

		// The kubelet's restart comes after the apply and does publish: had the apply, it would be before it.
		if _, err := r.admin.ServiceRestart(on(t, w), "kubelet"); err != nil {
			t.Fatal(err)
		}

		n := len(events.all)
		events.until(t, "*machine.ServiceStateEvent")

		for _, e := range events.all[n : len(events.all)-1] {
			if !strings.HasPrefix(e, "sequence boot STOP") && !strings.HasPrefix(e, "phase startEverything STOP") {
				t.Errorf("event %q", e)
			}
		}
	})
}

func operationUpgrade(t *testing.T, r *rig, w *lab.Node) {
	versionOf := func(t *testing.T) string {
		t.Helper()

		resp, err := r.admin.Version(on(t, w))
		if err != nil {
			t.Fatal(err)
		}

		return resp.GetMessages()[0].GetVersion().GetTag()
	}

	fact(t, "S10", "Upgrade refuses an image within the call, then reboots by itself into the new version, identity kept", func(t *testing.T) {
		if err := w.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}

		before, err := w.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		_, err = r.admin.Upgrade(on(t, w), "example/installer", false, false)
		wantCode(t, err, codes.Unknown)
		wantText(t, err, "error validating installer image")

		resp, err := r.admin.Upgrade(on(t, w), "example/installer:v1.13.8", false, false)
		if err != nil {
			t.Fatal(err)
		}

		if m := resp.GetMessages()[0]; m.GetAck() != "Upgrade request received" || m.GetActorId() == "" {
			t.Errorf("answer %v", m)
		}

		after := rebooted(t, w, before.BootID)
		r.reachable(t, w)

		if v := versionOf(t); v != "v1.13.8" || after.NodeID != before.NodeID {
			t.Errorf("version %s, node id %s then %s", v, before.NodeID, after.NodeID)
		}
	})
	fact(t, "S11", "LifecycleService.Upgrade needs a pulled image, installs, and leaves the reboot to its caller; Rollback goes back", func(t *testing.T) {
		before, err := w.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		image := "example/installer:v1.13.9"
		_, err = lifecycleUpgrade(on(t, w), r.admin, image)
		wantCode(t, err, codes.Internal)

		pull, err := r.admin.ImageClient.Pull(on(t, w), &machine.ImageServicePullRequest{ImageRef: image})
		if err != nil {
			t.Fatal(err)
		}

		if _, err := pull.Recv(); err != nil {
			t.Fatal(err)
		}

		if code, err := lifecycleUpgrade(on(t, w), r.admin, image); err != nil || code != 0 {
			t.Fatalf("exit code %d, %v", code, err)
		}

		if v := versionOf(t); v != before.Version {
			t.Errorf("version %s before any reboot", v)
		}

		if err := r.admin.Reboot(on(t, w)); err != nil {
			t.Fatal(err)
		}

		after := rebooted(t, w, before.BootID)
		if after.Version != "v1.13.9" {
			t.Errorf("version %s", after.Version)
		}

		if err := r.direct(w).Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}

		if s := rebooted(t, w, after.BootID); s.Version != before.Version {
			t.Errorf("after the rollback the version is %s, want %s", s.Version, before.Version)
		}

		r.reachable(t, w)
	})
}

// lifecycleUpgrade runs the installer and returns its exit code.
func lifecycleUpgrade(ctx context.Context, c *client.Client, image string) (int32, error) {
	stream, err := c.LifecycleClient.Upgrade(ctx, &machine.LifecycleServiceUpgradeRequest{
		Source: &machine.InstallArtifactsSource{ImageName: image},
	})
	if err != nil {
		return -1, err
	}

	code := int32(-1)

	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return code, nil
		}

		if err != nil {
			return code, err
		}

		if p, ok := m.GetProgress().GetResponse().(*machine.LifecycleServiceInstallProgress_ExitCode); ok {
			code = p.ExitCode
		}
	}
}

func operationAway(t *testing.T, r *rig, w *lab.Node) {
	fact(t, "S12", "between two boots the API is really away, and an endpoint may say so longer than it is", func(t *testing.T) {
		before, err := w.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		// It stays away until its process is restarted.
		must(t, w.Reboot(t.Context(), lab.RebootOptions{Gap: time.Hour}))
		eventually(t, "the API to go", func() bool {
			s, err := w.Status(t.Context())

			return err == nil && !s.Up
		})

		_, err = r.direct(w).Version(t.Context())
		wantCode(t, err, codes.Unavailable)

		_, err = r.admin.Version(on(t, w))
		wantCode(t, err, codes.Unavailable)
		must(t, w.Restart(t.Context(), lab.RestartOptions{}))
		rebooted(t, w, before.BootID)
		r.reachable(t, w)
	})
	fact(t, "S13", "Shutdown takes the node down for good; Reset gives it a new identity and its platform's configuration", func(t *testing.T) {
		before, err := w.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		r.mustApply(t, w, withLabel(t, r.current(t, w), "gone"))

		if err := r.admin.Reset(on(t, w), false, true); err != nil {
			t.Fatal(err)
		}

		after := rebooted(t, w, before.BootID)
		if after.NodeID == before.NodeID || after.Active != 1 || after.Persistent != 1 {
			t.Errorf("after the reset: %+v", after)
		}

		r.reachable(t, w)

		if strings.Contains(string(bytesOf(t, r.mustGet(t, w, configres.ActiveID))), "gone") {
			t.Error("the configuration survived the reset")
		}

		if err := r.admin.Shutdown(on(t, w)); err != nil {
			t.Fatal(err)
		}

		eventually(t, "the process to end", func() bool {
			_, err := w.Status(t.Context())

			return err != nil && !w.Alive()
		})
	})
}
