package act

import (
	"fmt"
	"slices"
	"strings"
)

// Extend adds what a user's file says of a shipped tool: plugins, verbs of newer releases, kinds, flags. It can say more
// than the shipped recogniser and never something else: a verb that is known stays what it is, so that no file makes a
// mutation a read.
func Extend(shipped, own Recogniser) (Recogniser, error) {
	if shipped.Tool != own.Tool || shipped.Dialect != own.Dialect {
		return shipped, fmt.Errorf("the file of %s cannot extend %s", own.Tool, shipped.Tool)
	}
	out := shipped
	out.Release += "+" + own.Release
	out.Commands = slices.Clone(shipped.Commands)
	for _, c := range own.Commands {
		if slices.ContainsFunc(shipped.Commands, func(have Command) bool { return sameWords(have.Words, c.Words) }) {
			return shipped, fmt.Errorf("%s %s is known already: a file can add verbs, not change them", own.Tool, strings.Join(c.Words, " "))
		}
		c.Use = prefixed(own.Tool, c.Use)
		out.Commands = append(out.Commands, c)
	}
	out.Sets = slices.Clone(shipped.Sets)
	for _, s := range own.Sets {
		out.Sets = append(out.Sets, FlagSet{Name: ownSet(own.Tool, s.Name), Flags: s.Flags})
	}
	out.Groups = slices.Concat(shipped.Groups, own.Groups)
	out.Flags = slices.Clone(shipped.Flags)
	for _, f := range own.Flags {
		if !slices.ContainsFunc(shipped.Flags, func(have Flag) bool { return have.Long == f.Long || have.Short == f.Short && f.Short != "" }) {
			out.Flags = append(out.Flags, f)
		}
	}
	out.Kinds = slices.Concat(shipped.Kinds, own.Kinds)
	out.ClusterScoped = slices.Concat(shipped.ClusterScoped, own.ClusterScoped)
	out.Executables = slices.Compact(slices.Sorted(slices.Values(slices.Concat(shipped.Executables, own.Executables))))
	out.UncertainWith = slices.Concat(shipped.UncertainWith, own.UncertainWith)
	out.When = slices.Concat(shipped.When, mutating(own.When))
	return out, nil
}

// ownSet keeps the names of a user's flag sets apart from the shipped ones.
func ownSet(tool, name string) string { return "own " + tool + " " + name }

func prefixed(tool string, names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = ownSet(tool, n)
	}
	return out
}

// mutating leaves out the rules that would make anything a read.
func mutating(rules []Rule) []Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.Class == Read || r.Local })
}
