package graph

import (
	"slices"
	"time"
)

// Default is the shipped meaning of edges from nodes of some kinds to nodes of others, for those that say nothing of
// their own. Basis says what the numbers rest on: "measured", or "assumed" where nobody has measured them yet.
type Default struct {
	From  []Kind
	To    []Kind
	Rules []Rule
	Basis string
	set   *RuleSet
}

// Defaults is the shipped list; the first that fits counts.
var Defaults = fill([]Default{
	{
		From: []Kind{Machine}, To: []Kind{Etcd},
		Rules: []Rule{{
			In: Down, Redundant: true,
			Absorbed: &Outcome{Symptom: LeaderChange, Effect: Blip, Delay: 10 * time.Second, Longest: 30 * time.Second},
			Outcome:  &Outcome{Symptom: QuorumLoss, Effect: Down, Delay: 10 * time.Second, Tail: 10 * time.Second},
		}, {
			In: Restart, Redundant: true, // a service of the machine, which may be etcd
			Absorbed: &Outcome{Symptom: LeaderChange, Effect: Blip, Delay: 10 * time.Second, Longest: 30 * time.Second},
			Outcome:  &Outcome{Symptom: QuorumLoss, Effect: Down, Delay: 10 * time.Second, Longest: time.Minute},
		}},
		Basis: "assumed: an election takes seconds; a member that returns is in the quorum within ten",
	},
	{
		From: []Kind{Machine, Endpoint}, To: []Kind{APIServer},
		Rules: []Rule{{
			In: Down, Redundant: true,
			Absorbed: &Outcome{Symptom: APIGap, Effect: Blip, Delay: 10 * time.Second, Longest: time.Minute, Tail: 10 * time.Second},
			Outcome:  &Outcome{Symptom: APIGap, Effect: Down, Tail: 10 * time.Second},
		}},
		Basis: "measured: an API server answers /readyz 3.5 to 6.2 s after its start, after one or two seconds of 403 and 500, hence the tail; " +
			"assumed: clients reach another instance within a minute",
	},
	{
		From: []Kind{Machine}, To: []Kind{Endpoint},
		Rules: []Rule{{
			In: Down, Redundant: true,
			Absorbed: &Outcome{Symptom: EndpointGap, Effect: Blip, Longest: time.Minute},
			Outcome:  &Outcome{Symptom: EndpointGap, Effect: Down},
		}},
		Basis: "assumed: a shared address moves within a minute",
	},
	{
		From: []Kind{Etcd}, To: []Kind{APIServer},
		Rules: []Rule{
			{In: Blip, Outcome: &Outcome{Symptom: APIGap, Effect: Blip, Longest: 30 * time.Second}},
			{In: Down, Outcome: &Outcome{Symptom: APIGap, Effect: Down, Tail: 10 * time.Second}},
		},
		Basis: "measured: the start-up errors after the return; assumed: requests wait for an election",
	},
	{
		From: []Kind{APIServer}, To: []Kind{Flux},
		Rules: []Rule{
			{In: Blip, Outcome: &Outcome{Symptom: ReconcileDelay, Effect: Stall, Tail: 5 * time.Minute}},
			{In: Down, Outcome: &Outcome{Symptom: ReconcileDelay, Effect: Stall, Tail: 5 * time.Minute}},
			{In: Restart, Outcome: &Outcome{Symptom: ReconcileDelay, Effect: Stall, Tail: 5 * time.Minute}},
		},
		Basis: "measured: nothing was applied for 2 min 20 s after a gap of 53 s, and for about 3.5 min after one of 200 s, all the while Ready=True",
	},
	{
		From: []Kind{Flux}, To: append([]Kind{Kustomize, Helm}, sources...),
		Rules: delaying(), Basis: "measured: with Flux as a whole, sources and Kustomizations stood still",
	},
	{
		From: sources, To: []Kind{Kustomize, Helm, HelmRepo},
		Rules: delaying(), Basis: "measured: a source that builds no artifact holds what is applied from it",
	},
	{
		From: []Kind{Kustomize, Helm}, To: []Kind{Kustomize, Helm},
		Rules: append(delaying(), Rule{In: Change, Outcome: &Outcome{Symptom: ReconcileDelay, Longest: 10 * time.Minute}}),
		Basis: "assumed: what is declared with dependsOn waits",
	},
	{
		From: []Kind{Kustomize, Helm}, To: append([]Kind{Database}, workloads...),
		Rules: []Rule{
			{In: Stall, Outcome: &Outcome{Symptom: ReconcileDelay}},
			{In: Down, Outcome: &Outcome{Symptom: ReconcileDelay}},
			{In: Change, Outcome: &Outcome{Symptom: PodRestart, Effect: Restart, Delay: time.Minute, Longest: 10 * time.Minute}},
		},
		Basis: "assumed: a rollout ends within Kubernetes' default progress deadline of ten minutes",
	},
	{
		From: []Kind{Kustomize, Helm}, To: []Kind{Namespace, Service, Ingress, ConfigMap, Secret, Claim, Object},
		Rules: []Rule{
			{In: Stall, Outcome: &Outcome{Symptom: ReconcileDelay}},
			{In: Down, Outcome: &Outcome{Symptom: ReconcileDelay}},
		},
		Basis: "measured: objects keep their old content until Flux acts again",
	},
	{
		From: []Kind{Machine}, To: append([]Kind{Database}, workloads...),
		Rules: []Rule{running(Down), running(Drain)},
		Basis: "assumed: pods of a lost node are replaced after Kubernetes' default toleration of five minutes",
	},
	{
		From: append([]Kind{Database}, workloads...), To: []Kind{Service, Ingress},
		Rules: []Rule{
			{In: Down, Redundant: true, Outcome: &Outcome{Symptom: Unavailable, Effect: Down}},
			{In: Blip, Outcome: &Outcome{Symptom: Unavailable, Effect: Blip}},
		},
		Basis: "assumed: a Service is there as long as something behind it is",
	},
	{
		From: []Kind{Service, Database, External}, To: append([]Kind{Kustomize, Helm}, sources...),
		Rules: []Rule{
			{In: Down, Outcome: &Outcome{Symptom: ReconcileDelay, Effect: Stall, Tail: 10 * time.Minute}},
		},
		Basis: "assumed: what Flux fetches or waits for is tried again at the next interval, ten minutes by default",
	},
	{
		From: []Kind{Service, Database, External}, To: append([]Kind{Service, Ingress, Database, External}, workloads...),
		Rules: []Rule{
			{In: Down, Outcome: &Outcome{Symptom: Unavailable, Effect: Down, Tail: time.Minute}},
			{In: Blip, Outcome: &Outcome{Symptom: Unavailable, Effect: Blip, Tail: 10 * time.Second}},
		},
		Basis: "assumed: a declared dependency; clients reconnect within a minute",
	},
})

// delaying is how standing still goes on.
func delaying() []Rule {
	return []Rule{
		{In: Stall, Outcome: &Outcome{Symptom: ReconcileDelay, Effect: Stall}},
		{In: Down, Outcome: &Outcome{Symptom: ReconcileDelay, Effect: Stall}},
		{In: Restart, Outcome: &Outcome{Symptom: ReconcileDelay, Effect: Stall}},
	}
}

// running is how what runs on a machine feels that it goes.
func running(in Effect) Rule {
	return Rule{
		In: in, Redundant: true,
		Absorbed: &Outcome{Symptom: PodRestart, Delay: 5 * time.Minute, Longest: 10 * time.Minute},
		Outcome:  &Outcome{Symptom: Unavailable, Effect: Down, Delay: 5 * time.Minute, Tail: 5 * time.Minute},
	}
}

func fill(list []Default) []Default {
	for i := range list {
		list[i].set = newRuleSet(list[i].Rules)
	}
	return list
}

// defaultRules are the shipped rules of an edge between two kinds, if there are any.
func defaultRules(from, to Kind) (*RuleSet, bool) {
	for i := range Defaults {
		if slices.Contains(Defaults[i].From, from) && slices.Contains(Defaults[i].To, to) {
			return Defaults[i].set, true
		}
	}
	return nil, false
}
