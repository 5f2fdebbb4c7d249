// Package graphfile reads and writes graph files, YAML that corrects and extends what was discovered, and publishes
// their schema. It only turns text into plain trees with line numbers and back; what they mean, and whether they are
// right, package graph says.
//
// A file is one document of plain values. Anchors, aliases and merge keys are refused: a line of a file should say
// what it says, and an error should name the line that is wrong.
package graphfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/clewops/clew/internal/graph"
)

// MaxSize bounds a file, in bytes. A hundred thousand edges that say everything fit in.
const MaxSize = 64 << 20

// Read reads a graph file. name is its name as the user knows it; every problem carries it with a line.
func Read(name string, text []byte) (graph.Specs, []graph.Problem) {
	t, problem := tree(name, text)
	if problem != nil {
		return graph.Specs{}, []graph.Problem{*problem}
	}
	if t == nil {
		return graph.Specs{}, nil // an empty file says nothing
	}
	return graph.Decode(name, *t)
}

// tree is the file's one document, or nil if there is none.
func tree(name string, text []byte) (*graph.Tree, *graph.Problem) {
	if len(text) > MaxSize {
		return nil, at(name, 1, "the file is larger than %d MiB: split it", MaxSize>>20)
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, syntax(name, err)
	}
	var second yaml.Node
	switch err := dec.Decode(&second); {
	case err == nil:
		return nil, at(name, second.Line, "only one document is allowed in a graph file")
	case !errors.Is(err, io.EOF):
		return nil, syntax(name, err)
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	return convert(name, root)
}

func at(name string, line int, format string, args ...any) *graph.Problem {
	return &graph.Problem{Origin: graph.Origin{File: name, Line: max(1, line)}, Message: fmt.Sprintf(format, args...)}
}

// yamlLine is where the YAML library puts the line of a syntax error: it offers no field for it.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func syntax(name string, err error) *graph.Problem {
	m := yamlLine.FindStringSubmatch(err.Error())
	line := 1
	if len(m) == 2 && m[1] != "" {
		line, _ = strconv.Atoi(m[1]) // digits, as matched
	}
	return at(name, line, "this is no YAML: %s", yamlLine.ReplaceAllString(err.Error(), ""))
}

// convert turns a YAML node into a plain tree.
func convert(name string, n *yaml.Node) (*graph.Tree, *graph.Problem) {
	t := &graph.Tree{Line: n.Line}
	if n.Anchor != "" || n.Kind == yaml.AliasNode {
		return nil, at(name, n.Line, "anchors and aliases are not used in graph files: write it out")
	}
	switch n.Kind {
	case yaml.ScalarNode:
		t.Shape = graph.Scalar
		if n.Tag != "!!null" {
			t.Text = n.Value
		}
	case yaml.SequenceNode:
		t.Shape = graph.Sequence
		for _, c := range n.Content {
			item, problem := convert(name, c)
			if problem != nil {
				return nil, problem
			}
			t.List = append(t.List, *item)
		}
	case yaml.MappingNode:
		t.Shape = graph.Mapping
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
				return nil, at(name, key.Line, "a key must be a plain word")
			}
			value, problem := convert(name, n.Content[i+1])
			if problem != nil {
				return nil, problem
			}
			t.Map = append(t.Map, graph.Field{Key: key.Value, Line: key.Line, Value: *value})
		}
	default:
		return nil, at(name, n.Line, "this is neither a value, nor a list, nor a mapping")
	}
	return t, nil
}

// Write writes specifications as a file that reads back as the same, with full names. Rules are written where they are
// given, so what a version hands out says everything.
func Write(s graph.Specs) []byte {
	var b strings.Builder
	b.WriteString("# yaml-language-server: $schema=graph.schema.json\n")
	section(&b, "nodes", len(s.Nodes))
	for _, n := range s.Nodes {
		fmt.Fprintf(&b, "  - name: %s # %s\n", scalar(string(n.Name)), comment(n.Origin))
		if len(n.Tolerates) > 0 {
			b.WriteString("    tolerates:\n")
		}
		for _, t := range n.Tolerates {
			fmt.Fprintf(&b, "      %s: %d\n", t.Of, t.Count)
		}
	}
	section(&b, "edges", len(s.Edges))
	for _, e := range s.Edges {
		fmt.Fprintf(&b, "  - from: %s # %s\n    to: %s\n", scalar(string(e.From)), comment(e.Origin), scalar(string(e.To)))
		if len(e.Rules) > 0 {
			b.WriteString("    carries:\n")
		}
		for _, r := range e.Rules {
			fmt.Fprintf(&b, "      - effect: %s\n", r.In)
			if r.Redundant {
				b.WriteString("        redundant: true\n")
			}
			outcome(&b, "absorbed", r.Absorbed)
			outcome(&b, "shows", r.Outcome)
		}
	}
	if len(s.DropNodes)+len(s.DropEdges) > 0 {
		b.WriteString("without:\n")
	}
	for _, d := range s.DropEdges {
		fmt.Fprintf(&b, "  - from: %s\n    to: %s\n", scalar(string(d.From)), scalar(string(d.To)))
	}
	for _, d := range s.DropNodes {
		fmt.Fprintf(&b, "  - node: %s\n", scalar(string(d.From)))
	}
	return []byte(b.String())
}

func section(b *strings.Builder, name string, n int) {
	if n > 0 {
		b.WriteString(name + ":\n")
	}
}

func outcome(b *strings.Builder, key string, o *graph.Outcome) {
	if o == nil {
		return
	}
	fmt.Fprintf(b, "        %s:\n", key)
	for _, f := range []struct{ key, value string }{
		{"symptom", string(o.Symptom)},
		{"effect", string(o.Effect)},
		{"delay", o.Delay.String()},
		{"longest", o.Longest.String()},
		{"tail", o.Tail.String()},
	} {
		if f.value != "" && f.value != "0s" {
			fmt.Fprintf(b, "          %s: %s\n", f.key, f.value)
		}
	}
}

// scalar quotes what YAML could take for something else than text.
func scalar(s string) string {
	if regexp.MustCompile(`^[a-z][A-Za-z0-9/._-]*$`).MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}

// comment is an origin without what would end a comment.
func comment(o graph.Origin) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, o.String())
}
