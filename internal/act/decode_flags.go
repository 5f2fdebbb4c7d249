package act

import (
	"slices"
	"strings"
)

// flags reads a mapping that lists flags by their arity, and then says what some of them are for.
func (d *decoder) flags(t Tree, dialect Dialect) []Flag {
	f := d.fields(t, "flags", "switch", "value", "optional", "many", "record", "select", "kind", "input")
	var list []Flag
	for _, part := range []struct {
		key   string
		arity Arity
	}{{"switch", Switch}, {"value", Value}, {"optional", Optional}, {"many", Many}} {
		if names, ok := f[part.key]; ok {
			for _, item := range d.flagNames(names, part.key) {
				flag := d.flag(item, dialect)
				flag.Arity = part.arity
				if slices.ContainsFunc(list, func(have Flag) bool {
					return have.Long == flag.Long || have.Short == flag.Short && flag.Short != ""
				}) {
					d.mistake(item, "%q stands here twice", item.Text)
				}
				list = append(list, flag)
			}
		}
	}
	d.purposes(f, list)
	return list
}

// flagNames reads a list of flags: a YAML list, or text with commas, which is how long lists stay readable.
func (d *decoder) flagNames(t Tree, what string) []Tree {
	if t.Kind != TreeScalar {
		return d.items(t, what)
	}
	var list []Tree
	for part := range strings.SplitSeq(t.Text, ",") {
		list = append(list, Tree{Line: t.Line, Text: strings.TrimSpace(part)})
	}
	return list
}

// flag reads the names of one flag: "-n --namespace".
func (d *decoder) flag(t Tree, dialect Dialect) Flag {
	var flag Flag
	for name := range strings.FieldsSeq(t.Text) {
		bare := strings.TrimLeft(name, "-")
		hyphens := len(name) - len(bare)
		switch {
		case bare == "" || strings.ContainsAny(bare, "=, "):
			d.mistake(t, "%q is no flag", name)
		case dialect == GoFlag && hyphens == 1 && flag.Long == "":
			flag.Long = bare
		case dialect == GNU && hyphens == 2 && flag.Long == "":
			flag.Long = bare
		case dialect == GNU && hyphens == 1 && len(bare) == 1 && flag.Short == "":
			flag.Short = bare
		default:
			d.mistake(t, `a flag is written "-n --namespace", "--namespace" or, in the dialect go, "-target"`)
		}
	}
	if flag.Long == "" {
		d.mistake(t, "a flag needs a long name")
	}
	return flag
}

// purposes reads what of the flags is recorded, selects something, names targets or holds manifests.
func (d *decoder) purposes(f map[string]Tree, list []Flag) {
	find := func(key Tree) *Flag {
		i := slices.IndexFunc(list, func(have Flag) bool { return have.Long == key.Text })
		if i < 0 {
			d.mistake(key, "no flag %q is declared in the same place", key.Text)
			return &Flag{}
		}
		return &list[i]
	}
	each := func(name string, do func(flag *Flag, val Tree)) {
		if t, ok := f[name]; ok {
			keys, vals := d.pairs(t, name)
			for i, key := range keys {
				do(find(key), vals[i])
			}
		}
	}
	each("record", func(flag *Flag, val Tree) {
		if val.Kind == TreeList {
			flag.Shape, flag.Enum = ShapeEnum, d.texts(val, "the values")
			return
		}
		flag.Shape = oneOf(&d.reader, val, "what is recorded", Shapes)
		if flag.Shape == ShapeEnum {
			d.mistake(val, "list the values instead: [client, server]")
		}
	})
	each("select", func(flag *Flag, val Tree) { flag.Selects = oneOf(&d.reader, val, "what is selected", SelectorNames) })
	each("kind", func(flag *Flag, val Tree) { flag.Kind = d.text(val, "a kind") })
	if t, ok := f["input"]; ok {
		for _, key := range d.flagNames(t, "input") {
			find(key).Input = true
		}
	}
}

// rules reads the rules of a command, or of the tool when c is nil.
func (d *decoder) rules(t Tree, r *Recogniser, c *Command) []Rule {
	var list []Rule
	for _, item := range d.items(t, "when") {
		list = append(list, d.rule(item, r, c))
	}
	return list
}

func (d *decoder) rule(t Tree, r *Recogniser, c *Command) Rule {
	f := d.fields(t, "a rule", "flag", "in", "contains", "absent", "arg", "args", "class", "local", "operation", "effect",
		"envelope", "tail", "outcome", "final")
	var rule Rule
	d.condition(f, &rule)
	if rule.Flag == "" && rule.Arg == 0 && !rule.Counted {
		d.mistake(t, `a rule needs a condition: "flag", "arg" or "args"`)
	}
	if key, ok := f["flag"]; ok && !r.declares(rule.Flag, c) {
		d.mistake(key, "no flag %q is declared for this command", rule.Flag)
	}
	var meaning Command
	d.meaning(f, &meaning)
	rule.Local, rule.Operation, rule.Effect = meaning.Local, meaning.Operation, meaning.Effect
	rule.Envelope, rule.Tail, rule.Outcome = meaning.Envelope, meaning.Tail, meaning.Outcome
	if class, ok := f["class"]; ok {
		rule.Class = oneOf(&d.reader, class, "class", []Class{Read, Mutate, Unknown})
	}
	if rule.Class == "" && !rule.Local && rule.Operation == "" && rule.Effect == "" && rule.Envelope == nil &&
		rule.Tail == 0 && rule.Outcome == "" {
		d.mistake(t, "a rule must change something: class, local, operation, effect, envelope, tail or outcome")
	}
	return rule
}

// condition reads when a rule holds.
func (d *decoder) condition(f map[string]Tree, rule *Rule) {
	if t, ok := f["flag"]; ok {
		rule.Flag = d.text(t, "flag")
	}
	if t, ok := f["in"]; ok {
		rule.In = d.texts(t, "in")
	}
	if t, ok := f["contains"]; ok {
		rule.Contains = d.texts(t, "contains")
		for _, part := range rule.Contains {
			if strings.ToLower(part) != part {
				d.mistake(t, "%q must be in lower case: values are compared without regard to case", part)
			}
		}
	}
	if t, ok := f["absent"]; ok {
		rule.Absent = d.yes(t, "absent")
	}
	if t, ok := f["final"]; ok {
		rule.Final = d.yes(t, "final")
	}
	if t, ok := f["arg"]; ok {
		rule.Arg = d.number(t, "arg")
		if len(rule.In) == 0 || rule.Arg < 1 {
			d.mistake(t, `"arg" is an argument's number, from 1, and needs the values "in" which it must be`)
		}
	}
	if t, ok := f["args"]; ok {
		if n := d.numbers(t, "args"); len(n) == 2 && n[0] >= 0 && n[0] <= n[1] {
			rule.Counted, rule.AtLeast, rule.AtMost = true, n[0], n[1]
		} else {
			d.mistake(t, `"args" is the least and the greatest number of arguments: [0, 1]`)
		}
	}
	if (len(rule.Contains) > 0 || rule.Absent) && rule.Flag == "" {
		for _, key := range []string{"contains", "absent"} {
			if t, ok := f[key]; ok {
				d.mistake(t, "%q needs a flag", key)
			}
		}
	}
}

// declares says whether a flag can be given to a command, or to any command when c is nil.
func (r *Recogniser) declares(long string, c *Command) bool {
	has := func(list []Flag) bool {
		return slices.ContainsFunc(list, func(f Flag) bool { return f.Long == long })
	}
	if c == nil {
		return has(r.Flags) || slices.ContainsFunc(r.Sets, func(s FlagSet) bool { return has(s.Flags) }) ||
			slices.ContainsFunc(r.Groups, func(g Group) bool { return has(g.Flags) }) ||
			slices.ContainsFunc(r.Commands, func(c Command) bool { return has(c.Flags) })
	}
	path := make([]string, len(c.Words))
	for i, w := range c.Words {
		path[i], _, _ = strings.Cut(w, "|")
	}
	return slices.ContainsFunc(r.flagLists(path, c), has)
}
