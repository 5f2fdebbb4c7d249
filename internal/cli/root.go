package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/drill"
)

// app is what one run of the program has at hand. Nothing of it is global.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            map[string]string
	flags          globalFlags

	root    *cobra.Command
	command *cobra.Command // the command that the command line names; nil before it is known
	started bool           // a command's own code has begun
	closers []func() error // what close undoes, last first

	config       *config.Config // once read; see settings
	wired        wired          // what was opened; see wire.go
	inspecting   bool           // the store is opened for verification only
	voice        *voice         // notes on stderr
	toldPassword bool           // the note about an inline database password was given
	drilled      *drill.Orders  // this run is an executor of a drill; nil in the product
}

// globalFlags are the flags that every command takes.
type globalFlags struct {
	context   string // the kubeconfig or talosconfig context
	namespace string // the namespace of a WHAT without one; offered where a command takes a WHAT
	output    string // table, json, yaml, or a form that only this command offers
	quiet     bool   // no notes on stderr
	verbose   bool   // also basis, epoch, generation, digests
	offline   bool   // use what is recorded; contact neither cluster nor server
	server    string // URL of a team server
	store     string // path of a SQLite file or a PostgreSQL URL
	as        string // asserted identity on a local store
}

func newApp(stdin io.Reader, stdout, stderr io.Writer, env []string) *app {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, env: make(map[string]string, len(env)), voice: newVoice(stderr)}
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok {
			a.env[k] = v
		}
	}
	return a
}

// getenv returns an environment variable, "" when it is not set.
func (a *app) getenv(key string) string { return a.env[key] }

// onClose registers what has to be undone when the command ends.
func (a *app) onClose(f func() error) { a.closers = append(a.closers, f) }

// close undoes in reverse order. The command's outcome is settled by then, so an error here is only told.
func (a *app) close() {
	for _, f := range slices.Backward(a.closers) {
		if err := f(); err != nil {
			a.note("clew: while closing: %v", err)
		}
	}
	a.closers = nil
	a.voice.hush()
}

// commands lists every command in the order in which help shows them. A command file adds its constructor here.
func commands(a *app) []*cobra.Command {
	return []*cobra.Command{
		// Every day.
		newLogCommand(a),
		newShowCommand(a),
		// Git against cluster.
		// Talos nodes.
		newMachineCommand(a),
		newApplyCommand(a),
		newPlanCommand(a),
		newApproveCommand(a),
		newDispatchCommand(a),
		newSettleCommand(a),
		// Setup.
		newWhoamiCommand(a),
		newVersionCommand(a),
		// Server, trust, rehearsal.
		newVerifyCommand(a),
		newAdminCommand(a),
		newLabCommand(a),
	}
}

// newRoot builds the whole command tree.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "clew",
		Short:         "What explains what you see on the cluster",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
	}
	a.root = root
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetVersionTemplate("clew {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		a.command = c
		return &usageError{err: err}
	})
	a.bindGlobalFlags(root)
	for _, g := range helpGroups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
	}
	root.SetCompletionCommandGroupID(groupSetup)
	list := commands(a)
	root.AddCommand(list...)
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Short = "Completion script for your shell"
		list = append(list, completion)
	}
	a.setupHelp(root, list)
	a.bindSituation(root)
	a.prepare(root)
	return root
}

func (a *app) bindGlobalFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&a.flags.context, "context", "", "kubeconfig or talosconfig context")
	f.StringVarP(&a.flags.output, "output", "o", "table", "table, json or yaml")
	f.BoolVarP(&a.flags.quiet, "quiet", "q", false, "no progress and no advice")
	f.BoolVarP(&a.flags.verbose, "verbose", "v", false, "also basis, epoch, generation and digests")
	f.BoolVar(&a.flags.offline, "offline", false, "use what is recorded; contact nothing")
	f.StringVar(&a.flags.server, "server", "", "URL of a team server")
	f.StringVar(&a.flags.store, "store", "", "SQLite file or PostgreSQL URL (also CLEW_STORE)")
	f.StringVar(&a.flags.as, "as", "", "asserted identity, local store only")
}

// prepare gives every command of the tree what all share: the namespace flag where there is a WHAT, flags that are given
// once, a check of -o and of what has to be given, an error for a group without its subcommand, and the mark that the
// command's own code has begun.
func (a *app) prepare(c *cobra.Command) {
	if strings.Contains(c.Use, "WHAT") {
		c.Flags().StringVarP(&a.flags.namespace, "namespace", "n", "", "namespace of WHAT")
	}
	giveOnce(c.Flags())
	giveOnce(c.PersistentFlags())
	for _, sub := range c.Commands() {
		a.prepare(sub)
	}
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			a.command = c // whose help a wrong count of arguments points to
			if err := checkWords(c, args); err != nil {
				return err
			}
			return check(c, args)
		}
	}
	if c.Run != nil { // only cobra's own commands; ours use RunE
		return
	}
	run := c.RunE
	if run == nil && c.HasSubCommands() && c != a.root {
		c.Args = cobra.ArbitraryArgs
		run = groupOnly
	}
	if run == nil {
		run = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		a.command = c
		if c == a.root && len(args) > 0 { // an empty word, which cobra does not take for a command's name
			return usagef("no command %q", args[0])
		}
		if err := a.checkOutput(c); err != nil {
			return err
		}
		if err := checkWords(c, args); err != nil { // again, for commands that take whatever arguments they get
			return err
		}
		if err := checkNeeded(c); err != nil {
			return err
		}
		a.started = true
		return run(c, args)
	}
}

// groupOnly answers a group of commands that was called by itself or with a word that is none of its commands.
func groupOnly(c *cobra.Command, args []string) error {
	names := make([]string, 0, len(c.Commands()))
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if len(args) == 0 {
		return usagef("%s needs one of: %s", c.CommandPath(), strings.Join(names, ", "))
	}
	return usagef("%s has no command %q; it has: %s", c.CommandPath(), args[0], strings.Join(names, ", "))
}

// formatsAnnotation is the key under which a command names output forms of its own, such as "sarif,junit".
const formatsAnnotation = "clew/output"

// allowOutput lets a command take further values of -o.
func allowOutput(c *cobra.Command, forms ...string) {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[formatsAnnotation] = strings.Join(forms, ",")
}

func (a *app) checkOutput(c *cobra.Command) error {
	forms := []string{"table", "json", "yaml"}
	if extra := c.Annotations[formatsAnnotation]; extra != "" {
		forms = append(forms, strings.Split(extra, ",")...)
	}
	if slices.Contains(forms, a.flags.output) {
		return nil
	}
	wrong := a.flags.output
	a.flags.output = "table" // the error itself has to be shown somehow
	return usagef("%s has no output form %q; it has: %s", c.CommandPath(), wrong, strings.Join(forms, ", "))
}
