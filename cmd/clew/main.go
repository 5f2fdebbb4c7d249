// Command clew says which deliberate act explains what is seen on a cluster, and sends approved Talos configurations.
package main

import (
	"context"
	"os"

	"github.com/clewops/clew/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
