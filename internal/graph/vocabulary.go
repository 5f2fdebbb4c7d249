package graph

import (
	"slices"
	"time"
)

// Effect is what an act, or a disturbed cause, does to a node.
type Effect string

// Effects.
const (
	Down    Effect = "down"    // away, as long as the cause lasts
	Blip    Effect = "blip"    // interrupted for a moment, while the service as such stays
	Drain   Effect = "drain"   // what runs on it is moved away
	Restart Effect = "restart" // its instances are replaced
	Stall   Effect = "stall"   // it does not act on changes until it has caught up
	Change  Effect = "change"  // new content is applied to it
	Opaque  Effect = "unknown" // nobody knows; it reaches the named target only
)

// Effects lists the effects with what they mean.
var Effects = []struct {
	Effect Effect
	Means  string
}{
	{Down, "away, as long as the cause lasts"},
	{Blip, "interrupted for a moment; the service as such stays"},
	{Drain, "what runs on it is moved away"},
	{Restart, "its instances are replaced"},
	{Stall, "it does not act on changes until it has caught up"},
	{Change, "new content is applied to it"},
	{Opaque, "not known; reaches the named target only"},
}

// Symptom is an observable disturbance.
type Symptom string

// Symptoms.
const (
	APIGap         Symptom = "api-gap"
	LeaderChange   Symptom = "leader-change"
	QuorumLoss     Symptom = "quorum-loss"
	EndpointGap    Symptom = "endpoint-gap"
	NodeNotReady   Symptom = "node-notready"
	TalosGap       Symptom = "talos-gap"
	PodRestart     Symptom = "pod-restart"
	Unavailable    Symptom = "unavailable"
	Failover       Symptom = "failover"
	ReconcileDelay Symptom = "reconcile-delay"
)

// SymptomInfo describes a symptom.
type SymptomInfo struct {
	Symptom Symptom
	Means   string
	Label   string // in a line: "API gap"
	Broken  string // in a line that says it is too much: "API down"
	Family  string // symptoms of one family are comparable: one of them instead of another means that it differs
}

// Families of symptoms.
const (
	familyService = "service" // something does not serve
	familyDelay   = "delay"   // something does not act on changes
)

// Symptoms is the shipped list.
var Symptoms = []SymptomInfo{
	{APIGap, "the Kubernetes API does not answer, or answers with start-up errors", "API gap", "API down", familyService},
	{LeaderChange, "etcd elects a new leader; requests wait or fail for a moment", "etcd leader change", "etcd unstable", familyService},
	{QuorumLoss, "etcd has no quorum", "etcd without quorum", "etcd without quorum", familyService},
	{EndpointGap, "a control-plane endpoint does not answer", "endpoint gap", "endpoint down", familyService},
	{NodeNotReady, "a node is not Ready", "node NotReady", "node NotReady", familyService},
	{TalosGap, "a machine's Talos API does not answer", "Talos API gap", "Talos API down", familyService},
	{PodRestart, "pods of a workload are replaced or restart", "pod restarts", "pods restarting", familyService},
	{Unavailable, "a workload or service has no ready instance", "unavailable", "unavailable", familyService},
	{Failover, "a database changes its primary; connections break for a moment", "failover", "database unstable", familyService},
	{ReconcileDelay, "Flux or another controller applies nothing, although it may say Ready", "reconcile delay", "nothing reconciled", familyDelay},
}

// About looks a symptom up.
func (s Symptom) About() (SymptomInfo, bool) {
	i := slices.IndexFunc(Symptoms, func(x SymptomInfo) bool { return x.Symptom == s })
	if i < 0 {
		return SymptomInfo{}, false
	}
	return Symptoms[i], true
}

// Comparable says whether both symptoms are of one family.
func (s Symptom) Comparable(o Symptom) bool {
	a, ok := s.About()
	b, ok2 := o.About()
	return ok && ok2 && a.Family == b.Family
}

// KnownEffect says whether e is in the list.
func KnownEffect(e Effect) bool {
	for _, x := range Effects {
		if x.Effect == e {
			return true
		}
	}
	return false
}

// shown says how an effect shows at the node that it is done to, and for how long where nobody says otherwise.
type shown struct {
	kinds   []Kind
	effect  Effect
	symptom Symptom
	longest time.Duration
}

var (
	sources   = []Kind{GitRepo, OCIRepo, Bucket, HelmRepo}
	workloads = []Kind{Deployment, StateSet, DaemonSet, Pod, Job, CronJob}
)

var shows = []shown{
	{[]Kind{Machine}, Down, NodeNotReady, 10 * time.Minute},
	{[]Kind{Machine}, Down, TalosGap, 10 * time.Minute},
	{[]Kind{Machine}, Restart, NodeNotReady, 2 * time.Minute},
	{[]Kind{Endpoint}, Down, EndpointGap, 10 * time.Minute},
	{[]Kind{Endpoint}, Blip, EndpointGap, time.Minute},
	{[]Kind{Etcd}, Down, QuorumLoss, 10 * time.Minute},
	{[]Kind{Etcd}, Blip, LeaderChange, 30 * time.Second},
	{[]Kind{APIServer}, Down, APIGap, 10 * time.Minute},
	{[]Kind{APIServer}, Restart, APIGap, time.Minute},
	{[]Kind{APIServer}, Blip, APIGap, time.Minute},
	{[]Kind{Flux, Kustomize, Helm}, Down, ReconcileDelay, 10 * time.Minute},
	{[]Kind{Flux, Kustomize, Helm}, Restart, ReconcileDelay, 5 * time.Minute},
	{append([]Kind{Flux, Kustomize, Helm}, sources...), Stall, ReconcileDelay, 10 * time.Minute},
	{sources, Down, ReconcileDelay, 10 * time.Minute},
	{append([]Kind{Service, Ingress, Database, External}, workloads...), Down, Unavailable, 10 * time.Minute},
	{append([]Kind{Database}, workloads...), Restart, PodRestart, 10 * time.Minute},
	{append([]Kind{Database}, workloads...), Change, PodRestart, 10 * time.Minute},
	{[]Kind{Database}, Blip, Failover, time.Minute},
	{append([]Kind{Service, Ingress, Database, External}, workloads...), Blip, Unavailable, time.Minute},
}

// shownAt lists how an effect shows at a node of a kind.
func shownAt(k Kind, e Effect) []shown {
	var list []shown
	for _, s := range shows {
		if s.effect == e && slices.Contains(s.kinds, k) {
			list = append(list, s)
		}
	}
	return list
}

// EffectsBehind lists the effects that show as a symptom at a node of a kind.
func EffectsBehind(k Kind, s Symptom) []Effect {
	var list []Effect
	for _, x := range shows {
		if x.symptom == s && slices.Contains(x.kinds, k) {
			list = append(list, x.effect)
		}
	}
	return list
}
