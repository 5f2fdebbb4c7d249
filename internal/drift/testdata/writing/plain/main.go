// Command plain compiles: what writes takes a Plain value.
package main

import "github.com/clewops/clew/internal/drift"

func write(v drift.Plain) any { return v.Tree() }

func main() { _ = write(drift.PlainOf("shown")) }
