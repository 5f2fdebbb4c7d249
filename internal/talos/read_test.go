package talos

import (
	"strings"
	"testing"
	"time"

	cosi "github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	configpb "github.com/siderolabs/talos/pkg/machinery/api/resource/config"
	clusterpb "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/cluster"
	"github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/enums"
	hardwarepb "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/hardware"
	runtimepb "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/runtime"
	siderolinkpb "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/siderolink"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/clewops/clew/internal/dispatch"
)

const grpcNotFound = 5

const workerConfig = `version: v1alpha1
machine:
  type: worker
  token: ` + marker + `
cluster:
  id: cluster-id
  controlPlane:
    endpoint: https://10.5.0.2:6443
`

var created = time.Date(2026, 3, 4, 5, 6, 7, 890_123_456, time.UTC)

// answers is a node whose every answer can be replaced: by the RPC's path, or a resource's id.
type answers map[string]func(*rawStream)

// ordinary is a running worker with both configuration resources.
func ordinary() answers {
	message := func(m proto.Message) func(*rawStream) { return func(s *rawStream) { s.reply(m, 0) } }
	return answers{
		"/machine.MachineService/Read": message(&common.Data{Bytes: []byte("boot-1\n")}),
		"/machine.MachineService/Version": message(&machine.VersionResponse{Messages: []*machine.Version{{
			Version: &machine.VersionInfo{Tag: talosVersion},
		}}}),
		"v1alpha1":   configResource("v1alpha1", workerConfig, "3"),
		"persistent": configResource("persistent", workerConfig, "2"),
		"machine": resourceOf("runtime", "MachineStatuses.runtime.talos.dev", "machine", &runtimepb.MachineStatusSpec{
			Stage:  enums.RuntimeMachineStage_MACHINE_STAGE_SHUTTING_DOWN,
			Status: &runtimepb.MachineStatusStatus{UnmetConditions: []*runtimepb.UnmetCondition{{Name: "nodeReady", Reason: marker}}},
		}),
		"local": resourceOf("cluster", "Identities.cluster.talos.dev", "local", &clusterpb.IdentitySpec{NodeId: "node-1"}),
		"systeminformation": resourceOf("hardware", "SystemInformations.hardware.talos.dev", "systeminformation",
			&hardwarepb.SystemInformationSpec{Uuid: "uuid-1"}),
	}
}

func configResource(id, yaml, version string) func(*rawStream) {
	return resourceAt("config", "MachineConfigs.config.talos.dev", id, version, timestamppb.New(created),
		&configpb.MachineConfigSpec{YamlMarshalled: []byte(yaml)})
}

func resourceOf(namespace, typ, id string, spec proto.Message) func(*rawStream) {
	return resourceAt(namespace, typ, id, "1", timestamppb.New(created), spec)
}

func resourceAt(namespace, typ, id, version string, at *timestamppb.Timestamp, spec proto.Message) func(*rawStream) {
	return func(s *rawStream) {
		b, _ := proto.Marshal(spec)
		s.reply(&cosi.GetResponse{Resource: &cosi.Resource{
			Metadata: &cosi.Metadata{
				Namespace: namespace, Type: typ, Id: id, Version: version, Phase: "running", Created: at, Updated: at,
			},
			Spec: &cosi.Spec{ProtoSpec: b, YamlSpec: "{}"},
		}}, 0)
	}
}

// node serves the answers; what they lack is not found.
func (a answers) node(t *testing.T) *rawNode {
	return newRawNode(t, func(s *rawStream) {
		key := s.headers[":path"][0]
		if key == "/cosi.resource.State/Get" {
			var req cosi.GetRequest
			s.message(t, &req)
			key = req.GetId()
		}
		if f := a[key]; f != nil {
			f(s)
			return
		}
		s.trailersOnly(grpcNotFound, "resource doesn't exist")
	})
}

func TestReading(t *testing.T) {
	c := ordinary().node(t).dial("")
	r, config, err := c.Read(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if string(config.Reveal()) != workerConfig {
		t.Error("the bytes are not those that were answered")
	}
	digest := dispatch.Digest([]byte(workerConfig))
	active := dispatch.Resource{Present: true, Digest: digest, Version: 3, Created: created}
	if r.Active != active {
		t.Errorf("active %+v, want %+v", r.Active, active)
	}
	if r.Persistent.Version != 2 || r.Persistent.Digest != digest || !r.Quiescent() {
		t.Errorf("persistent %+v", r.Persistent)
	}
	if r.Stage != "shutting down" || !r.InTransition() {
		t.Errorf("stage %q, in transition: %v", r.Stage, r.InTransition())
	}
	if r.Ready || len(r.Unmet) != 1 || r.Unmet[0] != "nodeReady" {
		t.Errorf("ready %v, unmet %v", r.Ready, r.Unmet)
	}
	if r.Role != dispatch.Worker || r.ClusterID != "cluster-id" || r.NodeID != "node-1" || r.BootID != "boot-1" {
		t.Errorf("%+v", r)
	}
	if r.UUID != "uuid-1" || r.HostName != "" || len(r.Addresses) != 1 || r.Addresses[0] != "127.0.0.1" || r.Omni {
		t.Errorf("%+v", r)
	}
	if c.minor() != "v1.13" {
		t.Errorf("minor %q", c.minor())
	}
}

func TestReadingWithout(t *testing.T) {
	t.Run("persistent", func(t *testing.T) {
		a := ordinary()
		delete(a, "persistent")
		r, _, err := a.node(t).dial("").Read(within(t))
		if err != nil || r.Persistent != (dispatch.Resource{}) || !r.Quiescent() {
			t.Errorf("%+v %v", r.Persistent, err)
		}
	})
	t.Run("any configuration", func(t *testing.T) {
		a := ordinary()
		delete(a, "persistent")
		delete(a, "v1alpha1")
		r, config, err := a.node(t).dial("").Read(within(t))
		if err != nil || r.Active.Present || config.Len() != 0 || r.Role != "" {
			t.Errorf("%+v %v", r, err)
		}
	})
	t.Run("rights to persistent only as HTTP says", func(t *testing.T) {
		a := ordinary()
		a["persistent"] = func(s *rawStream) { s.write(true, ":status", "404") }
		if _, _, err := a.node(t).dial("").Read(within(t)); err == nil {
			t.Error("an HTTP 404 passed for an absent resource")
		}
	})
	for key, answer := range map[string]func(*rawStream){
		"/machine.MachineService/Read":    func(s *rawStream) { s.reply(&common.Data{Bytes: []byte("\n")}, 0) },
		"/machine.MachineService/Version": func(s *rawStream) { s.reply(&machine.VersionResponse{}, 0) },
		"v1alpha1":                        func(s *rawStream) { s.trailersOnly(grpcDenied, "not authorized") },
		"persistent":                      resourceOf("config", "MachineConfigs.config.talos.dev", "v1alpha1", &configpb.MachineConfigSpec{}),
		"machine":                         func(s *rawStream) { s.trailersOnly(grpcNotFound, marker) },
		"local":                           resourceOf("cluster", "Identities.cluster.talos.dev", "local", &clusterpb.IdentitySpec{}),
		"systeminformation":               func(s *rawStream) { s.trailersOnly(grpcUnknown, marker) },
		"hostname":                        func(s *rawStream) { _ = s.conn.Close() },
	} {
		t.Run("a usable "+key, func(t *testing.T) {
			a := ordinary()
			a[key] = answer
			r, config, err := a.node(t).dial("").Read(within(t))
			if err == nil || r.NodeID != "" || config.Len() != 0 {
				t.Fatalf("%+v %v", r, err)
			}
			if strings.Contains(err.Error(), marker) {
				t.Errorf("the error shows what the node wrote: %v", err)
			}
			t.Log(err)
		})
	}
}

func TestReadingConfigurations(t *testing.T) {
	read := func(t *testing.T, yaml string) (dispatch.Reading, error) {
		a := ordinary()
		a["v1alpha1"] = configResource("v1alpha1", yaml, "1")
		r, _, err := a.node(t).dial("").Read(within(t))
		return r, err
	}
	r, err := read(t, strings.Replace(workerConfig, "type: worker", "type: controlplane", 1))
	if err != nil || r.Role != dispatch.ControlPlane {
		t.Errorf("control plane: %q %v", r.Role, err)
	}
	r, err = read(t, workerConfig+"---\napiVersion: v1alpha1\nkind: SideroLinkConfig\napiUrl: https://omni.example.com?jointoken="+marker+"\n")
	if err != nil || !r.Omni {
		t.Errorf("Omni by document: %v %v", r.Omni, err)
	}
	for name, yaml := range map[string]string{
		"an unknown key":  workerConfig + "unknown: " + marker + "\n",
		"an unknown kind": workerConfig + "---\napiVersion: v9\nkind: NewKind\nname: " + marker + "\n",
		"no YAML":         "\t" + marker,
		"no cluster id":   strings.Replace(workerConfig, "  id: cluster-id\n", "", 1),
	} {
		if r, err := read(t, yaml); err == nil || strings.Contains(err.Error(), marker) {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
	a := ordinary()
	a["siderolink"] = resourceOf("config", "SiderolinkConfigs.siderolink.talos.dev", "siderolink",
		&siderolinkpb.ConfigSpec{ApiEndpoint: "https://omni.example.com"})
	if r, _, err := a.node(t).dial("").Read(within(t)); err != nil || !r.Omni {
		t.Errorf("Omni by the kernel's command line: %v %v", r.Omni, err)
	}
}

func TestReadingIsOfOneBoot(t *testing.T) {
	a := ordinary()
	boots := 0
	a["/machine.MachineService/Read"] = func(s *rawStream) {
		boots++
		s.reply(&common.Data{Bytes: []byte(strings.Repeat("x", boots))}, 0)
	}
	if _, _, err := a.node(t).dial("").Read(within(t)); err == nil || !strings.Contains(err.Error(), "booted while it was read") {
		t.Fatalf("%v", err)
	}
}
