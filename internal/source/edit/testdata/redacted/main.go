// Command redacted must not compile: a change takes no Redacted value.
package main

import (
	"github.com/clewops/clew/internal/drift"
	"github.com/clewops/clew/internal/source/edit"
)

func main() {
	var r drift.Redacted
	_ = edit.Change{Value: r}
}
