package act

import (
	"slices"
	"strings"
)

// DecodeRecogniser reads a recogniser from a parsed file, strictly: unknown keys, names that nothing declares and
// contradictions are mistakes, and the error names their lines. It is what `clew recogniser check` reports.
func DecodeRecogniser(file string, t Tree) (Recogniser, error) {
	d := &decoder{}
	r := d.recogniser(t)
	return r, d.failed(file)
}

// decoder reads a recogniser's file.
type decoder struct {
	reader
}

func (d *decoder) recogniser(t Tree) Recogniser {
	var r Recogniser
	f := d.fields(t, "a recogniser", "schema", "tool", "release", "executables", "dialect", "environment",
		"uncertain_with", "kinds", "cluster_scoped", "nodes_are", "namespace", "flags", "sets", "groups", "when", "unreachable", "commands")
	for _, needed := range []string{"schema", "tool", "release", "executables", "commands"} {
		if _, ok := f[needed]; !ok && t.Kind == TreeMap {
			d.mistake(t, "the key %q is missing", needed)
		}
	}
	if s, ok := f["schema"]; ok && s.Text != Schema {
		d.mistake(s, "this version of clew reads the schema %s", Schema)
	}
	d.head(f, &r)
	if k, ok := f["kinds"]; ok {
		r.Kinds = d.kinds(k)
	}
	if l, ok := f["flags"]; ok {
		r.Flags = d.flags(l, r.Dialect)
	}
	if s, ok := f["sets"]; ok {
		keys, vals := d.pairs(s, "sets")
		for i, key := range keys {
			r.Sets = append(r.Sets, FlagSet{Name: key.Text, Flags: d.flags(vals[i], r.Dialect)})
		}
	}
	if g, ok := f["groups"]; ok {
		for _, item := range d.items(g, "groups") {
			r.Groups = append(r.Groups, d.group(item, r.Dialect))
		}
	}
	if c, ok := f["commands"]; ok {
		for _, item := range d.items(c, "commands") {
			d.addCommand(item, &r)
		}
	}
	if w, ok := f["when"]; ok {
		r.When = d.rules(w, &r, nil)
	}
	return r
}

// head reads the keys that describe the tool itself.
func (d *decoder) head(f map[string]Tree, r *Recogniser) {
	for key, into := range map[string]*string{"tool": &r.Tool, "release": &r.Release, "nodes_are": &r.NodesAre, "namespace": &r.Namespace} {
		if t, ok := f[key]; ok {
			*into = d.text(t, key)
			if *into != "" && !isType(*into) && key != "release" {
				d.mistake(t, "%s must be a plain lower-case word", key)
			}
		}
	}
	for key, into := range map[string]*[]string{
		"executables": &r.Executables, "uncertain_with": &r.UncertainWith, "cluster_scoped": &r.ClusterScoped,
	} {
		if t, ok := f[key]; ok {
			*into = d.texts(t, key)
		}
	}
	if t, ok := f["executables"]; ok && slices.ContainsFunc(r.Executables, func(e string) bool { return ProgramName(e) != e }) {
		d.mistake(t, "executables are base names, without a directory")
	}
	r.Dialect = GNU
	if t, ok := f["dialect"]; ok {
		r.Dialect = oneOf(&d.reader, t, "dialect", []Dialect{GNU, GoFlag})
	}
	if t, ok := f["unreachable"]; ok {
		r.Unreachable = d.numbers(t, "unreachable")
	}
	if t, ok := f["environment"]; ok {
		keys, vals := d.pairs(t, "environment")
		for i, key := range keys {
			r.Environment = append(r.Environment, Variable{Name: key.Text, Selects: oneOf(&d.reader, vals[i], "a variable", SelectorNames)})
		}
	}
}

func (d *decoder) kinds(t Tree) []KindName {
	var list []KindName
	owner := map[string]string{}
	keys, vals := d.pairs(t, "kinds")
	for i, key := range keys {
		k := KindName{Kind: key.Text, Aliases: d.texts(vals[i], "the names of "+key.Text)}
		for _, name := range append([]string{k.Kind}, k.Aliases...) {
			if other, taken := owner[name]; taken {
				d.mistake(key, "%q is already a name of %s", name, other)
			}
			owner[name] = k.Kind
		}
		list = append(list, k)
	}
	return list
}

func (d *decoder) group(t Tree, dialect Dialect) Group {
	f := d.fields(t, "a group", "words", "flags")
	g := Group{Words: d.words(f["words"], t)}
	if l, ok := f["flags"]; ok {
		g.Flags = d.flags(l, dialect)
	}
	return g
}

// noVerb is written for the words of a tool that has no verbs.
const noVerb = "."

// words reads a verb: words separated by blanks, each with alternatives.
func (d *decoder) words(t, parent Tree) []string {
	words := strings.Fields(t.Text)
	if t.Text == noVerb {
		return nil
	}
	if t.Kind != TreeScalar || len(words) == 0 {
		d.mistake(parent, `"words" must be the verb's words, as in rollout restart`)
		return nil
	}
	for _, w := range words {
		for alternative := range strings.SplitSeq(w, "|") {
			if alternative == "" || strings.HasPrefix(alternative, "-") {
				d.mistake(t, "%q is no word of a verb: alternatives are separated by |, and flags have a place of their own", w)
			}
		}
	}
	return words
}

// addCommand reads a command and compares it with those before it.
func (d *decoder) addCommand(t Tree, r *Recogniser) {
	f := d.fields(t, "a command", "words", "class", "local", "operation", "args", "on", "use", "flags", "effect", "envelope",
		"tail", "outcome", "no_failure", "unreachable", "when")
	c := Command{Words: d.words(f["words"], t), Args: Args{Form: ArgsNone}}
	for i := range r.Commands {
		if sameWords(r.Commands[i].Words, c.Words) {
			d.mistake(t, "%q stands here twice", strings.Join(c.Words, " "))
		}
	}
	if class, ok := f["class"]; ok {
		c.Class = oneOf(&d.reader, class, "class", []Class{Read, Mutate, Unknown})
	} else {
		d.mistake(t, `the key "class" is missing: read, mutate or unknown`)
	}
	if a, ok := f["args"]; ok {
		c.Args = d.args(a)
	}
	if on, ok := f["on"]; ok {
		c.On = d.texts(on, "on")
	}
	if use, ok := f["use"]; ok {
		c.Use = d.texts(use, "use")
		for _, name := range c.Use {
			if !slices.ContainsFunc(r.Sets, func(s FlagSet) bool { return s.Name == name }) {
				d.mistake(use, "there is no set of flags %q", name)
			}
		}
	}
	if l, ok := f["flags"]; ok {
		c.Flags = d.flags(l, r.Dialect)
	}
	d.meaning(f, &c)
	if c.Class == Read && (c.Effect != "" || len(c.Envelope) > 0 || c.Tail != 0 || c.Outcome != "") {
		d.mistake(t, "a command that reads has no effect, envelope, tail or outcome")
	}
	if c.Class == Mutate && c.Effect == "" && !c.Local {
		d.mistake(t, `a command that changes something needs an "effect"`)
	}
	if w, ok := f["when"]; ok {
		c.When = d.rules(w, r, &c)
	}
	r.Commands = append(r.Commands, c)
}

// meaning reads what a command does.
func (d *decoder) meaning(f map[string]Tree, c *Command) {
	if t, ok := f["local"]; ok {
		c.Local = d.yes(t, "local")
	}
	if t, ok := f["operation"]; ok {
		c.Operation = d.text(t, "operation")
	}
	if t, ok := f["effect"]; ok {
		c.Effect = d.symptom(t, "effect")
	}
	if t, ok := f["envelope"]; ok {
		c.Envelope = d.envelope(t)
	}
	if t, ok := f["tail"]; ok {
		c.Tail = d.duration(t, "tail")
	}
	if t, ok := f["outcome"]; ok {
		c.Outcome = oneOf(&d.reader, t, "outcome", Observations)
	}
	if t, ok := f["no_failure"]; ok {
		c.NoFailure = d.numbers(t, "no_failure")
	}
	if t, ok := f["unreachable"]; ok {
		c.Unreachable = d.numbers(t, "unreachable")
	}
}

// sameWords says whether two verbs share a form.
func sameWords(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !slices.ContainsFunc(strings.Split(a[i], "|"), func(w string) bool { return fits(b[i], w) }) {
			return false
		}
	}
	return true
}

// symptom reads a name made like symptoms and effects.
func (d *decoder) symptom(t Tree, what string) string {
	if t.Kind != TreeScalar || !isSymptomName(t.Text) {
		d.mistake(t, "%s must be lower-case words joined by hyphens, as in api-gap", what)
		return ""
	}
	return t.Text
}

func (d *decoder) envelope(t Tree) []Expectation {
	var list []Expectation
	for _, item := range d.items(t, "envelope") {
		f := d.fields(item, "an expectation", "symptom", "at", "for")
		e := Expectation{Symptom: d.symptom(f["symptom"], "symptom"), For: d.duration(f["for"], `"for"`)}
		if at, ok := f["at"]; ok {
			e.At = d.text(at, "at")
		}
		list = append(list, e)
	}
	return list
}

func (d *decoder) args(t Tree) Args {
	forms := []ArgForm{ArgsNone, ArgsOpaque, ArgsResources, ArgsPairs, ArgsOneResource, ArgsNames, ArgsPodPath, ArgsRaw}
	if t.Kind == TreeScalar {
		a := Args{Form: oneOf(&d.reader, t, "args", forms)}
		if a.Form == ArgsOneResource || a.Form == ArgsNames || a.Form == ArgsPodPath {
			d.mistake(t, "%s needs a kind: write {form: %s, kind: pod}", a.Form, a.Form)
		}
		return a
	}
	f := d.fields(t, "args", "form", "kind", "skip", "min", "max", "rest")
	a := Args{Form: oneOf(&d.reader, f["form"], "form", forms)}
	if k, ok := f["kind"]; ok {
		a.Kind = d.text(k, "kind")
	} else {
		d.mistake(t, `"kind" is missing`)
	}
	for key, into := range map[string]*int{"skip": &a.Skip, "min": &a.Min, "max": &a.Max, "rest": &a.Rest} {
		if n, ok := f[key]; ok {
			*into = d.number(n, key)
		}
	}
	return a
}
