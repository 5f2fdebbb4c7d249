// Command clewx runs the tools that people and agents use on clusters, exactly as they are, and keeps what was done.
package main

import (
	"os"

	"github.com/clewops/clew/internal/wrap"
)

func main() {
	os.Exit(wrap.Main(os.Args))
}
