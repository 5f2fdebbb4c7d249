package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// each calls do for every command of a tree.
func each(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, sub := range c.Commands() {
		each(sub, do)
	}
}

// sample is a value that the flag takes.
func sample(f *pflag.Flag) string {
	switch kind := f.Value.Type(); { // of a list, that of its elements comes first in the name
	case kind == "bool":
		return "=true"
	case strings.HasPrefix(kind, "int"):
		return "=1"
	case strings.HasPrefix(kind, "duration"):
		return "=48h"
	}
	return "=x"
}

// TestEveryFlagOfOneValueIsGivenOnce: of two values none is silently dropped, whatever the command.
func TestEveryFlagOfOneValueIsGivenOnce(t *testing.T) {
	checked := 0
	root := tree()
	each(root, func(c *cobra.Command) {
		if c.DisableFlagParsing {
			return
		}
		c.InheritedFlags() // merges them
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if _, many := f.Value.(pflag.SliceValue); many || f.Name == "help" || f.Name == "version" {
				return
			}
			checked++
			path := strings.Fields(c.CommandPath())
			twice := append(path[1:], "--"+f.Name+sample(f), "--"+f.Name+sample(f))
			h := newHome(t)
			if r := h.run(twice...); r.code != exitUsage || !strings.Contains(r.stderr, errTwice.Error()) {
				t.Errorf("clew %s: exit %d: %s", strings.Join(twice, " "), r.code, r.stderr)
			}
		})
	})
	if checked < 100 {
		t.Errorf("only %d flags were found", checked)
	}
	h := newHome(t)
	for _, args := range [][]string{
		{"apply", "-n", "worker-1", "-n", "worker-2", "-p", "{}", "--dry-run"},
		{"apply", "-n", "worker-1", "-f", "a.yaml", "--file", "b.yaml", "--dry-run"},
		{"-o", "json", "version", "--output", "yaml"},
	} {
		h.want(exitUsage, args...)
	}
	h.want(exitFailure, "apply", "-n", "worker-1", "-p", "{}", "-p", "{}", "--dry-run") // a flag of several values takes them
}

// TestNamespaceIsOfferedWhereSomethingHasOne: elsewhere it would be taken and ignored.
func TestNamespaceIsOfferedWhereSomethingHasOne(t *testing.T) {
	root := tree()
	each(root, func(c *cobra.Command) {
		if has, takes := c.Flags().Lookup("namespace") != nil, strings.Contains(c.Use, "WHAT"); has != takes {
			t.Errorf("%s: --namespace is offered: %v, takes a WHAT: %v", c.CommandPath(), has, takes)
		}
	})
	newHome(t).want(exitUsage, "dispatch", "p-123", "-n", "shop")
}
