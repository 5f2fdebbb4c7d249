package lab_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/meta"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"google.golang.org/grpc/codes"

	"github.com/clewops/clew/internal/lab"
)

// TestFidelityResources compares the COSI state with what real nodes were seen to do.
func TestFidelityResources(t *testing.T) {
	t.Parallel()

	r := newRig(t, lab.Config{})
	w := r.node("worker-1")

	t.Run("versions", func(t *testing.T) { resourceVersions(t, r, w) })
	t.Run("access", func(t *testing.T) { resourceAccess(t, r, w) })
	t.Run("watch", func(t *testing.T) { resourceWatch(t, r, w) })
	t.Run("identity", func(t *testing.T) { resourceIdentity(t, r, w) })
}

func resourceVersions(t *testing.T, r *rig, w *lab.Node) {
	fact(t, "R1", "after a first boot from elsewhere than STATE both ids exist at version 1", func(t *testing.T) {
		for _, id := range []resource.ID{configres.ActiveID, configres.PersistentID} {
			if v := r.mustGet(t, w, id).Metadata().Version().Value(); v != 1 {
				t.Errorf("%s has version %d", id, v)
			}
		}
	})
	fact(t, "R2", "the resource has no owner, phase running and one annotation; nothing says who wrote it", func(t *testing.T) {
		md := r.mustGet(t, w, configres.ActiveID).Metadata()
		spec, ok := md.Annotations().Get("talos.dev/yaml-spec")

		if md.Owner() != "" || md.Phase() != resource.PhaseRunning || !ok || spec != "1" || len(md.Annotations().Keys()) != 1 {
			t.Errorf("owner %q, phase %v, annotations %v", md.Owner(), md.Phase(), md.Annotations().Raw())
		}
	})
	fact(t, "R3", "bytes are kept as submitted, comments and trailing blanks included, also over a boot", func(t *testing.T) {
		data := append([]byte("# head \t \n"), marked(r.current(t, w), "tail  \t")...)
		r.mustApply(t, w, data)

		if !bytes.Equal(r.current(t, w), data) {
			t.Error("the bytes differ")
		}

		restartKept(t, r, w)

		if !bytes.Equal(r.current(t, w), data) {
			t.Error("the bytes differ after a boot")
		}
	})
	fact(t, "R4", "after a boot from STATE there is only the active one, at version 1; the first apply makes them 2 and 1", func(t *testing.T) {
		if _, err := get(on(t, w), r.admin, configres.PersistentID); !state.IsNotFoundError(err) {
			t.Errorf("reading persistent: %v, want not found", err)
		}

		if v := r.mustGet(t, w, configres.ActiveID).Metadata().Version().Value(); v != 1 {
			t.Errorf("active has version %d", v)
		}

		r.mustApply(t, w, r.current(t, w))

		if a, p := versions(t, w); a != 2 || p != 1 {
			t.Errorf("versions %d and %d", a, p)
		}
	})
	fact(t, "R5", "created stays, updated moves, both with parts of a second; both begin again at a boot", func(t *testing.T) {
		before := r.mustGet(t, w, configres.ActiveID).Metadata()
		r.mustApply(t, w, r.current(t, w))
		after := r.mustGet(t, w, configres.ActiveID).Metadata()

		if !after.Created().Equal(before.Created()) || !after.Updated().After(before.Updated()) {
			t.Errorf("created %v then %v, updated %v then %v", before.Created(), after.Created(), before.Updated(), after.Updated())
		}

		if after.Updated().Truncate(time.Second).Equal(after.Updated()) {
			t.Error("updated is cut to the second")
		}

		restartKept(t, r, w)

		if md := r.mustGet(t, w, configres.ActiveID).Metadata(); !md.Created().After(after.Created()) || md.Version().Value() != 1 {
			t.Errorf("after the boot: created %v, version %v", md.Created(), md.Version())
		}
	})
	fact(t, "R6", "a staged configuration takes effect at the next boot", func(t *testing.T) {
		data := withLabel(t, r.current(t, w), "staged")
		if _, err := apply(on(t, w), r.admin, applyRequest(staged, data)); err != nil {
			t.Fatal(err)
		}

		restartKept(t, r, w)

		if !bytes.Equal(r.current(t, w), data) {
			t.Error("another configuration is active")
		}
	})
}

// restartKept restarts the node's process once everything accepted is in STATE.
func restartKept(t *testing.T, r *rig, w *lab.Node) {
	t.Helper()

	eventually(t, "STATE to be written", func() bool {
		_, p := versions(t, w)

		return p == 0 || persisted(t, w, p)
	})

	if err := w.Restart(t.Context(), lab.RestartOptions{}); err != nil {
		t.Fatal(err)
	}

	r.reachable(t, w)
}

func resourceAccess(t *testing.T, r *rig, w *lab.Node) {
	ctx := on(t, w)

	fact(t, "R7", "MachineConfig is for admins alone: reader and operator are PermissionDenied, nothing is redacted", func(t *testing.T) {
		for _, c := range []*client.Client{r.reader, r.operator} {
			_, err := get(ctx, c, configres.ActiveID)
			wantCode(t, err, codes.PermissionDenied)
		}
	})
	fact(t, "R8", "no role may write", func(t *testing.T) {
		machineConfig := configres.NewMachineConfig(r.mustGet(t, w, configres.ActiveID).Provider())

		for _, c := range []*client.Client{r.admin, r.reader} {
			// The client hides the code of a write's error in an error type of its own.
			wantText(t, c.COSI.Create(ctx, machineConfig), "code = PermissionDenied")
			wantText(t, c.COSI.Destroy(ctx, machineConfig.Metadata()), "code = PermissionDenied")
		}

		wantText(t, r.admin.COSI.Create(ctx, machineConfig), "write access is not allowed")
	})
	fact(t, "R9", "an unknown type or namespace is PermissionDenied, not NotFound", func(t *testing.T) {
		_, err := r.admin.COSI.Get(ctx, resource.NewMetadata("config", "Nothings.clew.dev", "x", resource.VersionUndefined))
		wantCode(t, err, codes.PermissionDenied)
		wantText(t, err, "is not supported")

		_, err = r.admin.COSI.Get(ctx, resource.NewMetadata("nowhere", configres.MachineConfigType, "x", resource.VersionUndefined))
		wantCode(t, err, codes.PermissionDenied)
	})
	fact(t, "R10", "every role may read MachineStatus and Identity", func(t *testing.T) {
		for _, c := range []*client.Client{r.admin, r.operator, r.reader} {
			s, err := machineStatus(ctx, c)
			if err != nil {
				t.Fatal(err)
			}

			if s.TypedSpec().Stage != runtime.MachineStageRunning || !s.TypedSpec().Status.Ready {
				t.Errorf("status %+v", s.TypedSpec())
			}

			if _, err := identity(ctx, c); err != nil {
				t.Error(err)
			}
		}
	})
	fact(t, "R11", "resource definitions are listed, and resolve the names that people type", func(t *testing.T) {
		for _, name := range []string{"machineconfig", "mc", "machinestatus", "MachineConfigs.config.talos.dev"} {
			ns := ""
			rd, err := r.admin.ResolveResourceKind(ctx, &ns, name)
			if err != nil {
				t.Errorf("%s: %v", name, err)

				continue
			}

			if ns != rd.TypedSpec().DefaultNamespace {
				t.Errorf("%s resolves to namespace %q", name, ns)
			}
		}

		list, err := safe.StateListAll[*meta.Namespace](ctx, r.admin.COSI)
		if err != nil || list.Len() < 5 {
			t.Errorf("%d namespaces, %v", list.Len(), err)
		}
	})
	fact(t, "R12", "State calls cannot go to many nodes at once", func(t *testing.T) {
		_, err := get(client.WithNodes(t.Context(), w.Address()), r.admin, configres.ActiveID)
		wantCode(t, err, codes.InvalidArgument)
		wantText(t, err, "one-2-many proxying is not supported")
	})
}

func resourceWatch(t *testing.T, r *rig, w *lab.Node) {
	fact(t, "R13", "a watch gives the present state and then every change, with old and new", func(t *testing.T) {
		ctx, cancel := context.WithCancel(on(t, w))
		defer cancel()

		events := make(chan state.Event)
		if err := r.admin.COSI.Watch(ctx, configres.NewMachineConfigWithID(nil, configres.ActiveID).Metadata(), events); err != nil {
			t.Fatal(err)
		}

		first := next(t, events)
		if first.Type != state.Created {
			t.Fatalf("the first event is %v", first.Type)
		}

		version := first.Resource.Metadata().Version().Value()
		r.mustApply(t, w, marked(r.current(t, w), "watched"))

		e := next(t, events)
		if e.Type != state.Updated || e.Resource.Metadata().Version().Value() != version+1 || e.Old.Metadata().Version().Value() != version {
			t.Errorf("event %v from %v to %v", e.Type, e.Old.Metadata().Version(), e.Resource.Metadata().Version())
		}
	})
	fact(t, "R14", "a bookmark is good for one boot: a watch resumed from it after a boot is refused", func(t *testing.T) {
		ctx, cancel := context.WithCancel(on(t, w))
		defer cancel()

		events := make(chan state.Event)
		kind := runtime.NewMachineStatus().Metadata()

		if err := r.admin.COSI.WatchKind(ctx, kind, events, state.WithBootstrapBookmark(true)); err != nil {
			t.Fatal(err)
		}

		var bookmark state.Bookmark
		for bookmark == nil {
			e := next(t, events)
			if e.Type == state.Errored {
				t.Fatal(e.Error)
			}

			bookmark = e.Bookmark
		}

		resume := func() error {
			return r.admin.COSI.WatchKind(ctx, kind, make(chan state.Event), state.WithKindStartFromBookmark(bookmark))
		}
		if err := resume(); err != nil {
			t.Fatalf("within the boot: %v", err)
		}

		before, err := w.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		if err := w.Reboot(t.Context(), lab.RebootOptions{}); err != nil {
			t.Fatal(err)
		}

		rebooted(t, w, before.BootID)
		r.reachable(t, w)

		// The adapter of the running watch resumes by itself and ends with an error event.
		for {
			if e := next(t, events); e.Type == state.Errored {
				break
			}
		}

		if err := resume(); !state.IsInvalidWatchBookmarkError(err) {
			t.Errorf("after a boot: %v, want an invalid bookmark", err)
		}
	})
}

func next(t *testing.T, events <-chan state.Event) state.Event {
	t.Helper()

	select {
	case e := <-events:
		return e
	case <-time.After(patience):
		t.Fatal("no event came")

		return state.Event{}
	}
}

func identity(ctx context.Context, c *client.Client) (string, error) {
	r, err := safe.StateGet[*cluster.Identity](ctx, c.COSI,
		resource.NewMetadata(cluster.NamespaceName, cluster.IdentityType, cluster.LocalIdentity, resource.VersionUndefined))
	if err != nil {
		return "", err
	}

	return r.TypedSpec().NodeID, nil
}

func resourceIdentity(t *testing.T, r *rig, w *lab.Node) {
	fact(t, "R15", "the node id stays over boots and changes when STATE is wiped", func(t *testing.T) {
		read := func() string {
			id, err := identity(on(t, w), r.admin)
			if err != nil {
				t.Fatal(err)
			}

			return id
		}

		first := read()
		restartKept(t, r, w)

		if got := read(); got != first {
			t.Errorf("node id %s, then %s", first, got)
		}

		fresh(t, w)
		r.reachable(t, w)

		if got := read(); got == first || got == "" {
			t.Errorf("the node id after a wipe is %q", got)
		}
	})
}
