package act

import (
	"slices"
	"strings"
	"time"
)

// Recognised is what a command line means. Only the fields that have JSON names may leave the machine.
type Recognised struct {
	Known       bool          `json:"known"` // a recogniser knows the tool
	Tool        string        `json:"tool,omitempty"`
	Operation   string        `json:"operation,omitempty"`
	Class       Class         `json:"class"`
	Local       bool          `json:"local,omitempty"` // touches no cluster
	Effect      string        `json:"effect,omitempty"`
	Targets     []Target      `json:"targets,omitempty"`
	TargetsOpen bool          `json:"targets_open,omitempty"` // there can be more: manifests, a selection, --all
	Envelope    []Expectation `json:"envelope,omitempty"`
	Tail        time.Duration `json:"tail,omitempty"`
	Outcome     Observe       `json:"outcome,omitempty"`
	Recorded    []string      `json:"recorded,omitempty"` // the command line as far as it may be kept
	Doubts      []Doubt       `json:"doubts,omitempty"`   // why it is not fully understood
	Recogniser  string        `json:"recogniser,omitempty"`
	NoFailure   []int         `json:"-"`
	Unreachable []int         `json:"-"`
	Selectors   []Selector    `json:"-"` // may be private; see Selector
	NodesAre    string        `json:"-"` // kind of the targets that Place.Nodes names
	clusterWide []string      // kinds that are in no namespace
}

// Match says what a command line means. argv[0] is the program; env is asked only for the variables that the tool's
// recogniser names. A command line that no recogniser knows is unknown and has nothing recorded but that.
func Match(recognisers []*Recogniser, argv []string, env func(string) string) Recognised {
	if len(argv) > 0 {
		name := ProgramName(argv[0])
		for _, r := range recognisers {
			if slices.Contains(r.Executables, name) {
				return r.Match(argv[1:], env)
			}
		}
	}
	return Recognised{Class: Unknown, Doubts: []Doubt{DoubtTool}}
}

// Match says what the arguments mean to this tool.
func (r *Recogniser) Match(args []string, env func(string) string) Recognised {
	p := r.parse(args)
	out := Recognised{
		Known: true, Tool: r.Tool, Class: Unknown, Operation: strings.Join(p.path, " "),
		Recogniser: r.Tool + "/" + r.Release, Unreachable: r.Unreachable, NodesAre: r.NodesAre,
	}
	out.Selectors = r.selectors(p, env)
	if r.uncertain(env) {
		p.doubts = append(p.doubts, DoubtEnvironment)
	}
	if c := p.command; c == nil {
		out.guessTargets(r, &p)
	} else {
		out.start(c)
		out.takeArguments(r, c, &p)
	}
	out.applyRules(r, p)
	if p.command == nil && out.Local {
		p.doubts = slices.DeleteFunc(p.doubts, func(d Doubt) bool { return d == DoubtVerb }) // help for a group of verbs
	}
	if len(p.doubts) > 0 && out.Class == Read {
		out.Class, out.Local = Unknown, false
	}
	if out.Local {
		out.Targets, out.TargetsOpen = nil, false
	}
	out.Doubts = p.doubts
	if out.Class == Unknown && len(out.Doubts) == 0 {
		out.Doubts = []Doubt{DoubtClass}
	}
	out.Recorded = out.record(r.Tool, p)
	return out
}

// start takes over what a command says of itself.
func (out *Recognised) start(c *Command) {
	words := make([]string, len(c.Words))
	for i, w := range c.Words {
		words[i], _, _ = strings.Cut(w, "|")
	}
	out.Operation = strings.Join(words, " ")
	if c.Operation != "" {
		out.Operation = c.Operation
	}
	out.Class, out.Local, out.Effect = c.Class, c.Local, c.Effect
	out.Envelope, out.Tail, out.Outcome, out.NoFailure = c.Envelope, c.Tail, c.Outcome, c.NoFailure
	if len(c.Unreachable) > 0 {
		out.Unreachable = c.Unreachable
	}
}

// applyRules applies the command's rules, then the tool's: those only where it is clear which command it is.
func (out *Recognised) applyRules(r *Recogniser, p parsed) {
	var rules []Rule
	if p.command != nil {
		rules = p.command.When
	}
	if p.command != nil || len(p.args) == 0 {
		rules = slices.Concat(rules, r.When)
	}
	for _, rule := range rules {
		if !rule.holds(p) {
			continue
		}
		out.apply(rule)
		if rule.Final {
			return
		}
	}
}

// apply changes what the command means.
func (out *Recognised) apply(rule Rule) {
	if rule.Class != "" {
		out.Class = rule.Class
	}
	if rule.Local {
		out.Local = true
	}
	if rule.Operation != "" {
		out.Operation = rule.Operation
	}
	if rule.Effect != "" {
		out.Effect = rule.Effect
	}
	if len(rule.Envelope) > 0 {
		out.Envelope = rule.Envelope
	}
	if rule.Tail != 0 {
		out.Tail = rule.Tail
	}
	if rule.Outcome != "" {
		out.Outcome = rule.Outcome
	}
	if out.Class == Read {
		out.Effect, out.Envelope, out.Tail, out.Outcome = "", nil, 0, ObserveNothing
	}
}

// holds says whether all conditions of a rule hold.
func (rule Rule) holds(p parsed) bool {
	if rule.Counted && (len(p.args) < rule.AtLeast || len(p.args) > rule.AtMost) {
		return false
	}
	if rule.Arg > 0 && (len(p.args) < rule.Arg || !slices.Contains(rule.In, p.args[rule.Arg-1])) {
		return false
	}
	if rule.Flag == "" {
		return true
	}
	values, is := p.values(rule.Flag)
	switch {
	case rule.Absent:
		return !is
	case !is:
		return false
	case len(rule.Contains) > 0:
		return slices.ContainsFunc(values, func(v string) bool {
			return slices.ContainsFunc(rule.Contains, func(part string) bool { return strings.Contains(strings.ToLower(v), part) })
		})
	case len(rule.In) > 0 && rule.Arg == 0:
		// Every value counts, not the last one alone: --dry-run=client --dry-run=none is no dry run.
		return !slices.ContainsFunc(values, func(v string) bool { return !slices.Contains(rule.In, v) })
	}
	return true
}

// values are a flag's values in their order. A switch or an optional flag without a value has the value "true".
func (p parsed) values(long string) (values []string, is bool) {
	for _, g := range p.flags {
		if g.flag.Long != long {
			continue
		}
		is = true
		if len(g.values) == 0 && g.flag.Arity != Many && g.flag.Arity != Value {
			values = append(values, "true")
		}
		values = append(values, g.values...)
	}
	return values, is
}

// uncertain says whether the environment changes what a command line means.
func (r *Recogniser) uncertain(env func(string) string) bool {
	return slices.ContainsFunc(r.UncertainWith, func(name string) bool { return env(name) != "" })
}

// Failed says whether an exit is a failure of the command.
func (out Recognised) Failed(e Exit) bool {
	return e.Signal != "" || e.Status != 0 && !slices.Contains(out.NoFailure, e.Status)
}

// MayBeUnreachable says whether an exit can mean that the target was not reached: then it is worth a probe.
func (out Recognised) MayBeUnreachable(e Exit) bool {
	return out.Known && !out.Local && out.Failed(e) && e.Signal == "" && slices.Contains(out.Unreachable, e.Status)
}

// Selector returns the values that were chosen for a selector.
func (out Recognised) Selector(name SelectorName) []string {
	for _, s := range out.Selectors {
		if s.Name == name {
			return s.Values
		}
	}
	return nil
}

// selectors gathers what the options and the environment select. An option wins over the environment; of repeated ones
// the last wins, but for lists, which add up.
func (r *Recogniser) selectors(p parsed, env func(string) string) []Selector {
	var list []Selector
	set := func(name SelectorName, values []string, fromEnv bool) {
		i := slices.IndexFunc(list, func(s Selector) bool { return s.Name == name })
		switch {
		case i < 0:
			list = append(list, Selector{Name: name, Values: values, Environment: fromEnv})
		case fromEnv:
		case name.isList():
			list[i].Values = append(list[i].Values, values...)
		default:
			list[i].Values = values
		}
	}
	for _, g := range p.flags {
		name := g.flag.Selects
		if name == "" {
			continue
		}
		values := g.values
		switch {
		case len(values) > 0:
		case g.flag.Arity == Switch:
			values = []string{"true"}
		default:
			continue
		}
		if name.isList() {
			values = splitLists(values)
		}
		set(name, values, false)
	}
	for _, v := range r.Environment {
		value := env(v.Name)
		if value == "" {
			continue
		}
		values := []string{value}
		if v.Selects.isList() {
			values = splitLists(values)
		}
		set(v.Selects, values, true)
	}
	if r.Namespace != "" {
		set(SelectNamespace, []string{r.Namespace}, true)
	}
	return list
}

// splitLists splits values at commas and leaves empty parts out.
func splitLists(values []string) []string {
	var list []string
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	}
	return list
}
