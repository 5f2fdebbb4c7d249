// Command redacted must not compile: a Redacted value is not a Plain one, has no tree, and turns into neither.
package main

import "github.com/clewops/clew/internal/drift"

func write(v drift.Plain) any { return v.Tree() }

func main() {
	var r drift.Redacted
	_ = write(r)
	_ = write(drift.Plain(r))
	_ = r.Tree()
}
