package graph

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// Picture is the part of a version that is to be drawn.
type Picture struct {
	Nodes []NodeSpec
	Edges []EdgeSpec
}

// Around cuts out what lies at most so far above and below a node, at most so many nodes; more do not make a picture.
// With an empty name it is the whole version, up to that number of nodes in order of names.
func (v *Version) Around(n Name, distance, most int) Picture {
	keep := map[Name]bool{}
	if n == "" {
		for _, s := range v.Specs().Nodes {
			if len(keep) < most {
				keep[s.Name] = true
			}
		}
	} else if v.Has(n) {
		keep[n] = true
		for _, next := range []func(Name) []Name{v.above, v.below} {
			level := []Name{n}
			for range distance {
				var further []Name
				for _, m := range level {
					for _, o := range next(m) {
						if !keep[o] && len(keep) < most {
							keep[o] = true
							further = append(further, o)
						}
					}
				}
				level = further
			}
		}
	}
	var p Picture
	for name := range keep {
		s, _ := v.Node(name)
		p.Nodes = append(p.Nodes, s)
		for _, e := range v.Dependants(name) {
			if keep[e.To] {
				p.Edges = append(p.Edges, e)
			}
		}
	}
	s := Specs{Nodes: p.Nodes, Edges: p.Edges}
	s.sort()
	return Picture{s.Nodes, s.Edges}
}

func (v *Version) above(n Name) []Name {
	var list []Name
	for _, e := range v.Causes(n) {
		list = append(list, e.From)
	}
	return list
}

func (v *Version) below(n Name) []Name {
	var list []Name
	for _, e := range v.Dependants(n) {
		list = append(list, e.To)
	}
	return list
}

// DOT writes the picture for Graphviz. Discovered edges are dashed.
func (p Picture) DOT() string {
	var b strings.Builder
	b.WriteString("digraph clew {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n")
	for _, n := range p.Nodes {
		fmt.Fprintf(&b, "  %s [label=%s];\n", quote(string(n.Name)), quote(n.label()))
	}
	for _, e := range p.Edges {
		style := ""
		if e.Origin.Discovered() {
			style = ", style=dashed"
		}
		fmt.Fprintf(&b, "  %s -> %s [label=%s%s];\n", quote(string(e.From)), quote(string(e.To)), quote(e.label()), style)
	}
	b.WriteString("}\n")
	return b.String()
}

// quote is a DOT string: only quotes and backslashes are special in one.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func (n NodeSpec) label() string {
	s := n.Name.Typed()
	for _, t := range n.Tolerates {
		s += fmt.Sprintf(" (tolerates %d %s)", t.Count, t.Of)
	}
	return s
}

// label lists the symptoms that an edge can bring.
func (e EdgeSpec) label() string {
	var words []string
	for _, r := range e.Rules {
		for _, o := range []*Outcome{r.Absorbed, r.Outcome} {
			if o != nil && o.Symptom != "" && !slices.Contains(words, string(o.Symptom)) {
				words = append(words, string(o.Symptom))
			}
		}
	}
	return strings.Join(words, ", ")
}

// Sizes of the drawing, in pixels.
const (
	boxWidth, boxHeight = 220, 28
	gapX, gapY          = 90, 14
)

// SVG draws the picture in columns: a node stands right of everything that it depends on. It is a plain drawing for
// pictures of a few hundred nodes; for more, write DOT and let Graphviz lay it out.
func (p Picture) SVG() string {
	column := p.columns()
	rows := map[int]int{}
	type point struct{ x, y int }
	at := map[Name]point{}
	width, height := 0, 0
	for _, n := range p.Nodes {
		c := column[n.Name]
		at[n.Name] = point{10 + c*(boxWidth+gapX), 10 + rows[c]*(boxHeight+gapY)}
		rows[c]++
		width, height = max(width, at[n.Name].x+boxWidth+10), max(height, at[n.Name].y+boxHeight+10)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	b.WriteString(`<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>` + "\n")
	for _, e := range p.Edges {
		f, t := at[e.From], at[e.To]
		x1, y1, x2, y2 := f.x+boxWidth, f.y+boxHeight/2, t.x, t.y+boxHeight/2
		dash := ""
		if e.Origin.Discovered() {
			dash = ` stroke-dasharray="4 3"`
		}
		fmt.Fprintf(&b, `<path d="M%d %dC%d %d %d %d %d %d" fill="none" stroke="#555"%s marker-end="url(#a)"><title>%s</title></path>`+"\n",
			x1, y1, x1+gapX/2, y1, x2-gapX/2, y2, x2, y2, dash,
			html.EscapeString(string(e.From)+" > "+string(e.To)+": "+e.label()+" ("+e.Origin.String()+")"))
	}
	for _, n := range p.Nodes {
		c := at[n.Name]
		fmt.Fprintf(&b, `<g><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="4" fill="#fff" stroke="#222"/><text x="%d" y="%d">%s</text></g>`+"\n",
			html.EscapeString(string(n.Name)), c.x, c.y, boxWidth, boxHeight, c.x+8, c.y+18, html.EscapeString(short(n.label(), 32)))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func short(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

// columns is the length of the longest way to each node inside the picture.
func (p Picture) columns() map[Name]int {
	column := map[Name]int{}
	pending := map[Name]int{}
	out := map[Name][]Name{}
	for _, e := range p.Edges {
		pending[e.To]++
		out[e.From] = append(out[e.From], e.To)
	}
	var ready []Name
	for _, n := range p.Nodes {
		if pending[n.Name] == 0 {
			ready = append(ready, n.Name)
		}
	}
	for len(ready) > 0 {
		n := ready[0]
		ready = ready[1:]
		for _, to := range out[n] {
			column[to] = max(column[to], column[n]+1)
			if pending[to]--; pending[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	return column
}
