package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	v1alpha1res "github.com/siderolabs/talos/pkg/machinery/resources/v1alpha1"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Service states as ServiceList shows them.
const (
	serviceWaiting  = "Waiting"
	serviceStarting = "Starting"
	serviceRunning  = "Running"
	serviceStopping = "Stopping"
	serviceFinished = "Finished"
)

const kubelet = "kubelet"

// kubeletPause is how long the kubelet of a lab node takes to stop, and to start.
const kubeletPause = 200 * time.Millisecond

// needed are the services that a node must have to be ready; a control plane needs more.
func needed(worker bool) []string {
	if worker {
		return []string{"apid", "machined", kubelet}
	}

	return []string{"apid", "machined", kubelet, "etcd", "trustd"}
}

type service struct {
	state  string
	events []*machine.ServiceEvent
	since  time.Time
}

func (s *service) healthy() bool { return s.state == serviceRunning }

// services are the services of one boot.
type services struct {
	boot *boot

	mu   sync.Mutex
	byID map[string]*service
}

func newServices(b *boot) *services {
	s := &services{boot: b, byID: map[string]*service{}}
	for _, id := range append(needed(b.settings.Worker), "auditd", "containerd", "cri", "syslogd", "udevd") {
		s.byID[id] = &service{state: serviceWaiting}
	}

	return s
}

// set moves one service to a state and tells everybody who listens.
func (s *services) set(id, state, message string) {
	s.mu.Lock()
	svc := s.byID[id]
	svc.state, svc.since = state, time.Now()
	svc.events = append(svc.events, &machine.ServiceEvent{Msg: message, State: state, Ts: timestamppb.New(svc.since)})
	health := svc.health()
	healthy := svc.healthy()
	s.mu.Unlock()

	s.boot.events.publish("", &machine.ServiceStateEvent{
		Service: id,
		Action:  machine.ServiceStateEvent_Action(machine.ServiceStateEvent_Action_value[strings.ToUpper(state)]),
		Message: message,
		Health:  health,
	})

	err := safe.StateModify(s.boot.ctx, s.boot.state, v1alpha1res.NewService(id), func(r *v1alpha1res.Service) error {
		r.TypedSpec().Running, r.TypedSpec().Healthy = state == serviceRunning, healthy

		return nil
	})
	if err != nil && s.boot.ctx.Err() == nil {
		s.boot.log.Error("publishing a service", "service", id, "error", err)
	}
}

func (s *service) health() *machine.ServiceHealth {
	h := &machine.ServiceHealth{Unknown: s.state != serviceRunning, Healthy: s.healthy()}
	if !s.since.IsZero() {
		h.LastChange = timestamppb.New(s.since)
	}

	return h
}

// startAPI marks what runs as soon as the API answers.
func (s *services) startAPI() {
	for _, id := range []string{"machined", "apid"} {
		s.set(id, serviceRunning, "Started task "+id)
	}
}

func (s *services) startAll() {
	for _, id := range s.ids() {
		if !s.running(id) {
			s.set(id, serviceRunning, "Started task "+id)
		}
	}
}

func (s *services) stopKubelet() { s.set(kubelet, serviceFinished, "Service finished successfully") }

func (s *services) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.Sorted(maps.Keys(s.byID))
}

func (s *services) running(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.byID[id].state == serviceRunning
}

// missing names the needed services that do not run.
func (s *services) missing() []string {
	var ids []string

	for _, id := range needed(s.boot.settings.Worker) {
		if !s.running(id) {
			ids = append(ids, id)
		}
	}

	return ids
}

// ServiceList lists every service with its history.
func (m *machined) ServiceList(context.Context, *emptypb.Empty) (*machine.ServiceListResponse, error) {
	s := m.boot.services
	list := &machine.ServiceList{}

	for _, id := range s.ids() {
		s.mu.Lock()
		svc := s.byID[id]
		list.Services = append(list.Services, &machine.ServiceInfo{
			Id: id, State: svc.state, Health: svc.health(),
			Events: &machine.ServiceEvents{Events: slices.Clone(svc.events)},
		})
		s.mu.Unlock()
	}

	return &machine.ServiceListResponse{Messages: []*machine.ServiceList{list}}, nil
}

// operable says whether the API may do op to a service; only the kubelet takes orders here, and no stop.
func (s *services) operable(id, op string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if _, ok := s.byID[id]; !ok {
		return fmt.Errorf("service %q not defined", id)
	}

	if id != kubelet || op == "stop" {
		return fmt.Errorf("service %q doesn't support %s operation via API", id, op)
	}

	return nil
}

// ServiceRestart stops and starts the kubelet. The wait in between ends with the request, which then leaves it stopped.
func (m *machined) ServiceRestart(ctx context.Context, req *machine.ServiceRestartRequest) (*machine.ServiceRestartResponse, error) {
	s := m.boot.services
	if err := s.operable(req.GetId(), "restart"); err != nil {
		return nil, err
	}

	s.set(kubelet, serviceStopping, "Sending SIGTERM to task kubelet")
	m.boot.refreshStatus()

	stopped := pause(ctx, kubeletPause)

	s.stopKubelet()

	if !stopped {
		return nil, ctx.Err()
	}

	s.startKubelet()

	return &machine.ServiceRestartResponse{Messages: []*machine.ServiceRestart{
		{Resp: fmt.Sprintf("Service %q restarted", req.GetId())},
	}}, nil
}

// ServiceStart starts the kubelet.
func (m *machined) ServiceStart(_ context.Context, req *machine.ServiceStartRequest) (*machine.ServiceStartResponse, error) {
	s := m.boot.services
	if err := s.operable(req.GetId(), "start"); err != nil {
		return nil, err
	}

	if !s.running(kubelet) {
		s.startKubelet()
	}

	return &machine.ServiceStartResponse{Messages: []*machine.ServiceStart{
		{Resp: fmt.Sprintf("Service %q started", req.GetId())},
	}}, nil
}

// ServiceStop stops no service of a lab node.
func (m *machined) ServiceStop(_ context.Context, req *machine.ServiceStopRequest) (*machine.ServiceStopResponse, error) {
	if err := m.boot.services.operable(req.GetId(), "stop"); err != nil {
		return nil, err
	}

	return &machine.ServiceStopResponse{}, nil
}

// startKubelet brings the kubelet up in the background, as a node does: the caller is told that it was started.
func (s *services) startKubelet() {
	s.set(kubelet, serviceStarting, "Starting service")

	go func() {
		if pause(s.boot.ctx, kubeletPause) {
			s.set(kubelet, serviceRunning, "Started task kubelet")
			s.boot.refreshStatus()
		}
	}()
}
