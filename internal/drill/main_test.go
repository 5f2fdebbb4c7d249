package drill_test

import (
	"context"
	"os"
	"testing"

	"github.com/clewops/clew/internal/cli"
)

// TestMain lets this binary also be what a drill starts: nodes, links and executors.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "lab" {
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	os.Exit(m.Run())
}
