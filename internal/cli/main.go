// Package cli is the command line: it parses arguments, wires the other packages together and turns their
// results into words, JSON and exit codes.
//
// It is the only place where everything is wired. It holds no rule of its own: what is allowed and what an outcome
// means is decided in the packages below, so that another front end gives the same answers.
package cli

import (
	"context"
	"io"
	"os/signal"
	"syscall"
)

// Main runs one command line and returns the exit code (see exit.go). args excludes the program's name; env has the
// form of os.Environ. It never calls os.Exit and keeps no state between calls, so that tests can run many at once.
//
// An interrupt or a termination signal cancels the context that commands get. A second one ends the process at once,
// because a command may be waiting for something that does not heed its context.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	a := newApp(stdin, stdout, stderr, env)
	defer a.close()

	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.started {
		// Whatever cobra objects to before a command's own code runs is about how the command was typed.
		err = asUsage(err)
	}
	return a.finish(err)
}
