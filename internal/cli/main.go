// Package cli is the command line: it parses arguments, wires the other packages together and turns their
// results into words, JSON and exit codes.
//
// It is the only place where everything is wired. It holds no rule of its own: what is allowed and what an outcome
// means is decided in the packages below, so that another front end gives the same answers.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Main runs one command line and returns the exit code (see exit.go). args excludes the program's name; env has the
// form of os.Environ. It never calls os.Exit and keeps no state between calls, so that tests can run many at once.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	ctx, stop := withSignals(ctx)
	defer stop()
	a := newApp(stdin, stdout, stderr, env)
	return a.run(ctx, newRoot(a), args)
}

// withSignals returns a context that an interrupt, a termination signal or a hangup cancels. A second interrupt ends the
// process at once, because a command may be waiting for something that does not heed its context. A second one of the
// others does not: they come in pairs, to a process and its group, and the process may still be recording.
func withSignals(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT)
	context.AfterFunc(ctx, stop)
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup: the user wants it to go on
		signal.Notify(end, syscall.SIGHUP)
	}
	go func() {
		select {
		case <-end:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(end)
		cancel()
	}
}

// outliveReaders makes a write to a closed pipe an error instead of the process's end: an executor that may have sent
// something has to record what became of it, whoever has stopped listening.
func outliveReaders() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// run executes a command tree and undoes what the command left open.
func (a *app) run(ctx context.Context, root *cobra.Command, args []string) int {
	defer a.close()
	root.SetArgs(args)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		giveAgain(root)
	}
	err := root.ExecuteContext(ctx)
	if err != nil && !a.started {
		// Whatever cobra objects to before a command's own code runs is about how the command was typed.
		err = asUsage(err)
	}
	return a.finish(err)
}
