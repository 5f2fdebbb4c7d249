package graphfile

import (
	"encoding/json"

	"github.com/clewops/clew/internal/graph"
)

// Schema is the JSON schema of graph files, for editors. Names and what hangs together it cannot check; Read does.
func Schema() []byte {
	type m = map[string]any
	var kinds, effects, symptoms []string
	for _, k := range graph.Kinds() {
		kinds = append(kinds, string(k))
	}
	for _, e := range graph.Effects {
		if e.Effect != graph.Opaque {
			effects = append(effects, string(e.Effect))
		}
	}
	for _, s := range graph.Symptoms {
		symptoms = append(symptoms, string(s.Symptom))
	}
	name := m{
		"type": "string", "minLength": 1,
		"description": "kind/cluster, kind/cluster/name or kind/cluster/namespace/name; without the cluster it is the file's",
	}
	duration := func(about string) m {
		return m{"type": "string", "pattern": `^(0|(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+)$`, "description": about}
	}
	outcome := m{
		"type": "object", "additionalProperties": false,
		"properties": m{
			"symptom": m{"enum": symptoms},
			"effect":  m{"enum": effects, "description": "as what it goes on; without it, it ends here"},
			"delay":   duration("it begins at the latest so long after its cause"),
			"longest": duration("it lasts at most so long; without it, as long as its cause"),
			"tail":    duration("it may last so much longer than its cause"),
		},
	}
	rule := m{
		"type": "object", "additionalProperties": false, "required": []string{"effect"},
		"properties": m{
			"effect":    m{"enum": effects, "description": "what arrives at the cause"},
			"redundant": m{"type": "boolean", "description": "disturbed causes of this kind count against what the dependant tolerates"},
			"absorbed":  m{"$ref": "#/$defs/outcome", "description": "while it tolerates them"},
			"shows":     m{"$ref": "#/$defs/outcome", "description": "beyond that, or always if it is not redundant"},
		},
	}
	object := func(required []string, properties m) m {
		return m{"type": "object", "additionalProperties": false, "required": required, "properties": properties}
	}
	list := func(of m) m { return m{"type": "array", "items": of} }
	schema := object([]string{}, m{
		"cluster": m{"type": "string", "description": "the cluster of all names that give none"},
		"nodes": list(object([]string{"name"}, m{
			"name": name,
			"tolerates": m{
				"type": "object", "description": "how many disturbed causes of a kind it bears",
				"additionalProperties": m{"type": "integer", "minimum": 0},
				"examples":             []any{m{"node": 1}}, "x-kinds": kinds,
			},
		})),
		"edges":   list(object([]string{"from", "to"}, m{"from": name, "to": name, "carries": list(rule)})),
		"without": list(m{"oneOf": []any{object([]string{"node"}, m{"node": name}), object([]string{"from", "to"}, m{"from": name, "to": name})}}),
	})
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "Clew graph file"
	schema["$defs"] = m{"outcome": outcome}
	b, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic(err) // maps, lists and texts only
	}
	return append(b, '\n')
}
