package act

import (
	"slices"
	"strings"
)

// takeArguments reads the arguments as the command's form says: which of them name targets.
func (out *Recognised) takeArguments(r *Recogniser, c *Command, p *parsed) {
	t := targeting{r: r, c: c, p: p, namespace: out.namespace()}
	switch c.Args.Form {
	case ArgsNone:
		t.excess(0)
	case ArgsOpaque, ArgsRaw:
	case ArgsResources:
		t.resources(p.args[:max(0, len(p.args)-c.Args.Rest)])
	case ArgsPairs:
		n := slices.IndexFunc(p.args, isPair)
		if n < 0 {
			n = len(p.args)
		}
		t.resources(p.args[:n])
	case ArgsOneResource:
		t.oneResource()
	case ArgsNames:
		t.names()
	case ArgsPodPath:
		t.podPaths()
	}
	t.fromFlags()
	out.clusterWide = slices.Concat(r.ClusterScoped, c.On)
	for _, kind := range c.On {
		t.targets = append(t.targets, Target{Kind: kind})
	}
	out.Targets = t.targets
	out.TargetsOpen = t.open || slices.Contains(p.doubts, DoubtFlag)
}

// namespace is the namespace that the options choose, for the targets; empty when none or all are chosen.
func (out Recognised) namespace() string {
	if len(out.Selector(SelectAllNamespaces)) > 0 && out.Selector(SelectAllNamespaces)[0] == "true" {
		return ""
	}
	if v := out.Selector(SelectNamespace); len(v) == 1 {
		return v[0]
	}
	return ""
}

// targeting gathers the targets of one command line.
type targeting struct {
	r         *Recogniser
	c         *Command
	p         *parsed
	namespace string
	targets   []Target
	open      bool
}

// add notes a target. A name that has not the shape of one is left out: the target is its kind then.
func (t *targeting) add(kind, name string, arg int) {
	target := Target{Kind: kind, Namespace: t.namespace}
	if !isName(t.namespace) || slices.Contains(t.r.ClusterScoped, kind) {
		target.Namespace = ""
	}
	switch {
	case name == "":
		t.open = true
	case isName(name):
		target.Name = name
	default:
		t.open = true
		arg = -1
	}
	if arg >= 0 {
		t.keep(arg)
	}
	if !slices.Contains(t.targets, target) {
		t.targets = append(t.targets, target)
	}
}

// keep marks an argument as one that may be recorded.
func (t *targeting) keep(arg int) {
	for i := range t.p.recorded {
		if part := &t.p.recorded[i]; part.arg == arg {
			part.text, part.arg, part.named = t.p.args[arg], -1, true
		}
	}
}

// excess doubts the command line if it has more than n arguments.
func (t *targeting) excess(n int) {
	if len(t.p.args) > n && !slices.Contains(t.p.doubts, DoubtArguments) {
		t.p.doubts = append(t.p.doubts, DoubtArguments)
	}
}

// resources reads TYPE[,TYPE] [NAME...] or TYPE/NAME...
func (t *targeting) resources(args []string) {
	if len(args) == 0 {
		return
	}
	if strings.Contains(args[0], "/") {
		for i, a := range args {
			kind, name, ok := strings.Cut(a, "/")
			if !ok || !isType(kind) {
				t.open = true
				continue
			}
			t.add(t.r.kind(kind), name, i)
		}
		return
	}
	var kinds []string
	for typed := range strings.SplitSeq(args[0], ",") {
		if isType(typed) {
			kinds = append(kinds, t.r.kind(typed))
		} else {
			t.open = true
		}
	}
	if len(kinds) == 0 || t.open {
		return
	}
	t.keep(0)
	for _, kind := range kinds {
		if len(args) == 1 {
			t.add(kind, "", -1)
		}
		for i, name := range args[1:] {
			t.add(kind, name, i+1)
		}
	}
}

// oneResource reads NAME or TYPE/NAME, and lets the rest be.
func (t *targeting) oneResource() {
	if len(t.p.args) == 0 {
		t.open = true
		return
	}
	kind, name, ok := strings.Cut(t.p.args[0], "/")
	switch {
	case !ok:
		t.add(t.c.Args.Kind, kind, 0)
	case isType(kind):
		t.add(t.r.kind(kind), name, 0)
	default:
		t.open = true
	}
	if t.c.Args.Rest >= 0 {
		t.excess(1 + t.c.Args.Rest)
	}
}

// names reads names of one kind.
func (t *targeting) names() {
	a := t.c.Args
	if len(t.p.args) < max(a.Min, a.Skip+1) {
		t.add(a.Kind, "", -1)
		return
	}
	end := len(t.p.args)
	if a.Max > 0 {
		end = min(end, a.Skip+a.Max)
	}
	for i := a.Skip; i < end; i++ {
		// A name may be written with its type, as in node/cp-1.
		name := t.p.args[i]
		if kind, n, ok := strings.Cut(name, "/"); ok && t.r.kind(kind) == a.Kind {
			name = n
		}
		t.add(a.Kind, name, i)
	}
	if a.Max > 0 && a.Rest >= 0 {
		t.excess(a.Skip + a.Max + a.Rest)
	}
}

// podPaths reads [NAMESPACE/]POD:PATH; the path is not recorded.
func (t *targeting) podPaths() {
	for _, a := range t.p.args {
		pod, _, ok := strings.Cut(a, ":")
		if !ok || pod == "" || pod[0] == '.' {
			continue
		}
		namespace := t.namespace
		if before, after, ok := strings.Cut(pod, "/"); ok {
			t.namespace, pod = before, after
		}
		if isName(pod) {
			t.add(t.c.Args.Kind, pod, -1)
		}
		t.namespace = namespace
	}
}

// fromFlags adds the targets that flags name, and notes that manifests and selections can hold more.
func (t *targeting) fromFlags() {
	for _, g := range t.p.flags {
		if g.flag.Input {
			t.open = true
		}
		if g.flag.Kind == "" {
			continue
		}
		for _, name := range splitLists(g.values) {
			t.add(g.flag.Kind, name, -1)
		}
	}
}

// isPair says whether an argument is no resource but an assignment: KEY=VALUE, KEY=VALUE:EFFECT, KEY:EFFECT, or KEY- to
// remove one. Names may have colons; the effects of taints begin with a capital.
func isPair(a string) bool {
	_, after, colon := strings.Cut(a, ":")
	return strings.Contains(a, "=") || strings.HasSuffix(a, "-") || colon && after != "" && after[0] >= 'A' && after[0] <= 'Z'
}

// guessTargets takes TYPE/NAME arguments of known types for the targets of a verb that is not known.
func (out *Recognised) guessTargets(r *Recogniser, p *parsed) {
	t := targeting{r: r, p: p, namespace: out.namespace()}
	for i, a := range p.args {
		kind, name, ok := strings.Cut(a, "/")
		known := slices.ContainsFunc(r.Kinds, func(k KindName) bool { return k.Kind == r.kind(kind) })
		if ok && known && isName(name) {
			t.add(r.kind(kind), name, i)
		}
	}
	out.Targets, out.TargetsOpen, out.clusterWide = t.targets, true, r.ClusterScoped
}

// record is the command line as far as it may be kept.
func (out Recognised) record(tool string, p parsed) []string {
	list := []string{tool}
	for _, part := range p.recorded {
		text := part.text
		if part.arg >= 0 || part.named && out.Local {
			text = Elided
		}
		if text == Elided && list[len(list)-1] == Elided {
			continue
		}
		list = append(list, text)
	}
	return list
}

// WithPlace gives the targets once the place is known: a tool whose targets are its nodes has those of the place, and an
// object without a namespace is in the place's, unless all are meant.
func (out Recognised) WithPlace(at Place) []Target {
	if out.Local {
		return nil
	}
	targets := slices.Clone(out.Targets)
	for i, t := range targets {
		if t.Namespace == "" && !at.AllNamespaces && !slices.Contains(out.clusterWide, t.Kind) {
			targets[i].Namespace = at.Namespace
		}
	}
	if out.NodesAre == "" {
		return targets
	}
	for _, n := range at.Nodes {
		t := Target{Kind: out.NodesAre, Name: n}
		if !slices.Contains(targets, t) {
			targets = append(targets, t)
		}
	}
	return targets
}
