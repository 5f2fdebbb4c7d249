package graphfile

import (
	"fmt"
	"strings"
	"time"

	"github.com/clewops/clew/internal/graph"
)

// Document is the reference of the graph's words and shipped edges, in Markdown.
func Document() []byte {
	var b strings.Builder
	b.WriteString("# The resource graph: words and shipped edges\n\nWritten from the code. The schema of graph files is `graph.schema.json`.\n")
	b.WriteString("\n## Symptoms\n\n| Symptom | Means |\n| --- | --- |\n")
	for _, s := range graph.Symptoms {
		fmt.Fprintf(&b, "| `%s` | %s |\n", s.Symptom, s.Means)
	}
	b.WriteString("\n## Effects\n\n| Effect | Means |\n| --- | --- |\n")
	for _, e := range graph.Effects {
		fmt.Fprintf(&b, "| `%s` | %s |\n", e.Effect, e.Means)
	}
	b.WriteString("\n## What an edge carries where nothing else is said\n\nThe first row whose kinds fit counts. Beyond redundancy both columns show.\n\n" +
		"| From | To | Effect | Shows, or shows beyond redundancy | Absorbed by redundancy | Rests on |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, d := range graph.Defaults {
		for _, r := range d.Rules {
			absorbed := "-"
			if r.Redundant {
				absorbed = inWords(r.Absorbed)
			}
			fmt.Fprintf(&b, "| %s | %s | `%s` | %s | %s | %s |\n", words(d.From), words(d.To), r.In, inWords(r.Outcome), absorbed, d.Basis)
		}
	}
	return []byte(b.String())
}

func words(kinds []graph.Kind) string {
	list := make([]string, len(kinds))
	for i, k := range kinds {
		list[i] = string(k)
	}
	return strings.Join(list, ", ")
}

// inWords is an outcome as a person reads it.
func inWords(o *graph.Outcome) string {
	if o == nil {
		return "nothing"
	}
	s := "`" + string(o.Symptom) + "`"
	for _, d := range []struct {
		text   string
		length time.Duration
	}{{"within", o.Delay}, {"at most", o.Longest}, {"tail", o.Tail}} {
		if d.length > 0 {
			s += fmt.Sprintf(", %s %s", d.text, d.length)
		}
	}
	if o.Effect != "" {
		s += ", goes on as `" + string(o.Effect) + "`"
	}
	return s
}
