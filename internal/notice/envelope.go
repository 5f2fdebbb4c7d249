package notice

import (
	"slices"
	"time"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/graph"
)

// pastKey names acts that are compared with each other: of one kind, on one cluster, for one symptom at one kind of
// node.
type pastKey struct {
	kind, cluster string
	symptom       graph.Symptom
	at            graph.Kind
}

// How many earlier acts count.
const (
	fewestPast = 3
	latestPast = 5
)

// Sources of what is allowed, as verdicts name them.
const (
	FromClaim   = "claimed"
	FromHistory = "history"
	FromDefault = "default"
)

// allowed is how long a symptom of an act may show at a node altogether: what was claimed (at most four times the
// default unless the work is marked long), else what earlier acts did, else the recogniser's default, else what the
// edges give.
func (b *Book) allowed(a Act, s graph.Symptom, at graph.Name, derived graph.Allowance) graph.Allowance {
	shipped, hasDefault := expected(a.Default, s, at)
	if claim, ok := expected(a.Claimed, s, at); ok {
		standard := derived.For
		if hasDefault {
			standard = shipped
		}
		return graph.Allowance{For: act.Claimed(claim, standard, a.Long), Source: FromClaim}
	}
	if past, ok := b.fromHistory(pastKey{a.Kind, a.cluster(), s, at.Kind()}, a.Start); ok {
		return graph.Allowance{For: past, Source: FromHistory}
	}
	if hasDefault {
		return graph.Allowance{For: shipped, Source: FromDefault}
	}
	return derived
}

// expected finds what a list says of a symptom: for this very node first, then for any.
func expected(list []Expectation, s graph.Symptom, at graph.Name) (time.Duration, bool) {
	for _, want := range []graph.Name{at, ""} {
		for _, e := range list {
			if e.Symptom == s && e.At == want {
				return e.For, true
			}
		}
	}
	return 0, false
}

// fromHistory is one and a half times the largest of the last five that ended before the act began. Fewer than three
// say nothing.
func (b *Book) fromHistory(k pastKey, before time.Time) (time.Duration, bool) {
	var list []time.Duration
	for _, p := range slices.Backward(b.history[k]) {
		if !p.Ended.After(before) && len(list) < latestPast {
			list = append(list, p.Measured)
		}
	}
	if len(list) < fewestPast {
		return 0, false
	}
	return slices.Max(list) * 3 / 2, true
}

// PutPast takes what an earlier act did. Only acts that ended ok and did not exceed count.
func (b *Book) PutPast(p Past) {
	if !p.OK || p.Exceeded || p.Measured <= 0 {
		return
	}
	k := pastKey{p.Kind, p.Cluster, p.Symptom, p.At}
	list := slices.DeleteFunc(b.history[k], func(o Past) bool { return o.Act == p.Act && o.Measured <= p.Measured })
	if slices.ContainsFunc(list, func(o Past) bool { return o.Act == p.Act }) {
		return // at another node of that kind it took longer; that is what counts
	}
	i, _ := slices.BinarySearchFunc(list, p, func(a, b Past) int { return a.Ended.Compare(b.Ended) })
	b.history[k] = slices.Insert(list, i, p)
}

// measure says what an act that is over has done.
func (b *Book) measure(t *tracked, now time.Time) []Entry {
	nodes := map[*spot]bool{}
	b.spotsOf(t, nodes)
	var entries []Entry
	for _, s := range sortedSpots(nodes) {
		c := b.claims(s, t, now)
		if len(c) == 0 || c[0].measured <= 0 {
			continue
		}
		p := Past{
			Act: t.act.ID, Kind: t.act.Kind, Cluster: t.act.cluster(), Symptom: s.symptom, At: s.node.Kind(), Measured: c[0].measured,
			Ended: t.act.End, OK: t.act.Outcome.State == act.OutcomeOK,
		}
		for _, bo := range s.bouts {
			p.Exceeded = p.Exceeded || bo.said != nil && bo.said.Kind == Exceeded && bo.said.Cause == t.act.ID
		}
		b.PutPast(p)
		entries = append(entries, Entry{Kind: Measured, At: now, Past: &p})
	}
	return entries
}
