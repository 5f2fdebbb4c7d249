package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/clewops/clew/internal/lab/link"
	"github.com/clewops/clew/internal/lab/node"
)

// The arguments of a lab's processes, after "lab".
const (
	childNode   = "node"
	childLink   = "link"
	childKeeper = "keep"
)

// Child runs this process as a part of a lab when args are "lab node|link|keep DIR ...", and reports that it did.
//
// A program that calls Up with itself as Config.Exe (a test binary, the drill) calls Child first thing in main or
// TestMain and exits with the code when it returns true. The arguments carry directories and names only, no secret.
func Child(args []string) (code int, was bool) {
	if len(args) < 3 || args[0] != "lab" {
		return 0, false
	}

	var run func(ctx context.Context, dir string) error

	dir := args[2]

	switch kind := args[1]; kind {
	case childNode:
		if len(args) != 4 {
			return 0, false
		}

		dir = (&Lab{dir: dir}).nodeDir(args[3])
		run = func(ctx context.Context, dir string) error { return node.Run(ctx, dir, os.Stderr) }
	case childLink:
		dir = (&Lab{dir: dir}).linkDir()
		run = func(ctx context.Context, dir string) error { return link.Run(ctx, filepath.Join(dir, linkSettings)) }
	case childKeeper:
		dir = (&Lab{dir: dir}).keeperDir()
		run = keep
	default:
		return 0, false
	}

	if err := runChild(dir, run, args[1] == childKeeper); err != nil {
		fmt.Fprintln(os.Stderr, time.Now().Format(time.RFC3339), err)

		return 1, true
	}

	return 0, true
}

func runChild(dir string, run func(context.Context, string) error, keeper bool) error {
	if err := recordSelf(dir); err != nil {
		return err
	}

	if os.Getenv(tiedVariable) != "" && !keeper {
		go func() {
			awaitEnd()
			os.Exit(0)
		}()
	}

	go endWithRecord(filepath.Join(dir, processFile))

	return run(context.Background(), dir)
}

// endWithRecord ends the process when its record is gone: somebody has removed the directory of a lab that was up, and
// nobody could find the process any more.
func endWithRecord(path string) {
	for range time.Tick(2 * time.Second) {
		if _, err := os.Stat(path); os.IsNotExist(err) {
			os.Exit(0)
		}
	}
}

// awaitEnd returns when the process that called Up has ended.
func awaitEnd() {
	// Nothing is ever written: reading ends, with whatever error, when the last writer is gone.
	os.NewFile(3, "lifeline").Read(make([]byte, 1)) //lint:ignore errcheck see above
}

// keep waits for the end of the process that the lab is tied to and then removes the lab.
func keep(ctx context.Context, dir string) error {
	awaitEnd()

	l, err := Open(filepath.Dir(dir))
	if err != nil {
		return nil // it was taken down properly
	}

	return l.down(ctx)
}
