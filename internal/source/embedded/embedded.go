// Package embedded parses documents that live as text inside an object, as the keys of a ConfigMap do, into plain trees:
// YAML, JSON, TOML, .properties and INI. It only reads, within limits, and what it is not sure to understand it does not
// call a document: then the text is compared as text.
package embedded

import (
	"path"
	"strings"
	"unicode/utf8"

	"github.com/clewops/clew/internal/drift"
	"github.com/clewops/clew/internal/drift/tree"
)

// Limits of what is parsed. The API server allows a ConfigMap one mebibyte.
const (
	maxBytes = 1 << 20
	maxDepth = 64
	maxNodes = 100_000
)

// Formats, as Document.Format has them.
const (
	formatYAML       = "yaml"
	formatJSON       = "json"
	formatTOML       = "toml"
	formatProperties = "properties"
	formatINI        = "ini"
)

// byEnding are the formats that a name tells.
var byEnding = map[string]string{
	".yaml": formatYAML, ".yml": formatYAML, ".json": formatJSON, ".toml": formatTOML, ".properties": formatProperties,
	".env": formatProperties, ".ini": formatINI, ".cfg": formatINI, ".conf": formatINI,
}

// parsers give the tree of a text; false where it is not in the format or not within the limits.
var parsers = map[string]func(string) (any, bool){
	formatYAML: parseYAML, formatJSON: parseJSON, formatTOML: parseTOML, formatProperties: parseProperties, formatINI: parseINI,
}

// Parse is a drift.ParseDocument. The format is the one that the name's ending tells; a text under a name without a known
// ending is tried as JSON and as YAML, and is a document if it holds a map or a list.
func Parse(name, text string) (drift.Document, bool) {
	if len(text) > maxBytes || !utf8.ValidString(text) || strings.TrimSpace(text) == "" {
		return drift.Document{}, false
	}
	formats := []string{formatJSON, formatYAML}
	if f, ok := byEnding[strings.ToLower(path.Ext(name))]; ok {
		formats = []string{f}
	}
	for _, f := range formats {
		if v, ok := parsers[f](text); ok && structured(v) {
			return drift.Document{Format: f, Tree: v}, true
		}
	}
	return drift.Document{}, false
}

// structured says whether there is anything in the tree to compare entry by entry.
func structured(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// bounded gives what a decoder gave as a plain tree, if it is within the limits.
func bounded(v any) (any, bool) {
	nodes := 0
	if !within(v, 0, &nodes) {
		return nil, false
	}
	n, err := tree.Normalize(v)
	return n, err == nil
}

func within(v any, depth int, nodes *int) bool {
	if *nodes++; *nodes > maxNodes || depth > maxDepth {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			if !within(item, depth+1, nodes) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !within(item, depth+1, nodes) {
				return false
			}
		}
	}
	return true
}

// shallow says whether no bracket is opened deeper than the limit, before a parser that calls itself is let in.
func shallow(text string) bool {
	depth := 0
	for _, r := range text {
		switch r {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		}
		if depth > maxDepth {
			return false
		}
	}
	return true
}
