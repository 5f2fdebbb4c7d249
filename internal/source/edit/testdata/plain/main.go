// Command plain compiles: a change takes a Plain value.
package main

import (
	"github.com/clewops/clew/internal/drift"
	"github.com/clewops/clew/internal/source/edit"
)

func main() {
	_ = edit.Change{Value: drift.PlainOf("shown")}
}
