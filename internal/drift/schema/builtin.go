package schema

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/clewops/clew/internal/drift/tree"
)

// builtin holds the kinds that most repositories use, from the OpenAPI v3 documents of Kubernetes v1.36.3 (Apache-2.0),
// reduced to what merging and comparing need, one schema a line.
//
//go:embed builtin.json
var builtin []byte

// Builtin is the schema of the usual kinds of Kubernetes, for where no server can be asked. What a server says goes
// before it.
func Builtin() (*Document, error) {
	var document any
	if err := json.Unmarshal(builtin, &document); err != nil {
		return nil, fmt.Errorf("the built-in schemas: %w", err)
	}
	document, err := tree.Normalize(document)
	if err != nil {
		return nil, fmt.Errorf("the built-in schemas: %w", err)
	}
	return FromOpenAPI(document)
}
