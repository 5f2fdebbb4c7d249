package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Help groups, the GroupID of every command that the first level offers.
const (
	groupDaily  = "daily"
	groupGit    = "git"
	groupTalos  = "talos"
	groupSetup  = "setup"
	groupServer = "server"
)

// helpGroup is one section of the help screen.
type helpGroup struct {
	id, title string
	rare      bool // shown by "clew help all" only
}

var helpGroups = []helpGroup{
	{id: groupDaily, title: "Every day"},
	{id: groupGit, title: "Git against cluster"},
	{id: groupTalos, title: "Talos nodes"},
	{id: groupSetup, title: "Setup", rare: true},
	{id: groupServer, title: "Server, trust, rehearsal", rare: true},
}

// setupHelp installs the first screen and the help command.
func (a *app) setupHelp(root *cobra.Command, list []*cobra.Command) {
	standard := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c == root {
			a.rootHelp(c.OutOrStdout(), list, false)
			return
		}
		standard(c, args)
	})
	help := &cobra.Command{
		Use:   "help [COMMAND | all]",
		Short: "Help about a command; all lists every command",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return root.Help()
			}
			if len(args) == 1 && args[0] == "all" {
				a.rootHelp(a.stdout, list, true)
				return nil
			}
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("no command %q", args[len(args)-1])
			}
			return c.Help()
		},
	}
	root.SetHelpCommand(help)
	root.AddCommand(help)
}

// rootHelp writes the first screen: the sections in order, the rare ones only when all is set.
func (a *app) rootHelp(w io.Writer, list []*cobra.Command, all bool) {
	fmt.Fprintf(w, "%s\n\nusage: clew [COMMAND] [flags]\n", a.root.Short)
	hidden := 0
	for _, g := range helpGroups {
		t := newTable(w)
		n := 0
		for _, c := range list {
			if c.GroupID != g.id || !c.IsAvailableCommand() {
				continue
			}
			if g.rare && !all {
				hidden++
				continue
			}
			if n == 0 {
				fmt.Fprintf(w, "\n%s\n", g.title)
			}
			n++
			t.row("  "+c.Name(), c.Short)
		}
		if err := t.flush(); err != nil {
			return // the reader has gone
		}
	}
	fmt.Fprintf(w, "\nEvery command\n%s\n", a.root.PersistentFlags().FlagUsages())
	if hidden > 0 {
		fmt.Fprintf(w, "%d more with: clew help all\n", hidden)
	}
	fmt.Fprintln(w, "More about one: clew help COMMAND")
}

// helpCommand is what to type after a usage error.
func (a *app) helpCommand() string {
	if a.command == nil {
		return "clew --help"
	}
	return a.command.CommandPath() + " --help"
}
