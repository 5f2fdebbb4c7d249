package graph

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestPictures(t *testing.T) {
	s := shop("prod")
	s.Edges = append(s.Edges, EdgeSpec{From: "node/prod/w-2", To: "deploy/prod/shop/batch", Origin: Origin{File: `a"b<c.yaml`, Line: 7}})
	v := build(t, s)
	near := v.Around("apiserver/prod", 1, 50)
	if len(near.Nodes) != 6 { // itself, etcd, three machines, Flux
		t.Errorf("%d nodes around the API server", len(near.Nodes))
	}
	if few := v.Around("", 0, 3); len(few.Nodes) != 3 {
		t.Errorf("%d nodes of at most 3", len(few.Nodes))
	}
	whole := v.Around("", 0, 1000)
	nodes, edges := v.Len()
	dot := whole.DOT()
	if strings.Count(dot, " -> ") != edges || strings.Count(dot, "[label=") != nodes+edges || strings.Count(dot, "dashed") != edges-1 {
		t.Errorf("not what is in the graph:\n%s", dot)
	}
	if !strings.Contains(dot, `"etcd/prod" [label="etcd (tolerates 1 node)"];`) {
		t.Errorf("etcd is not drawn:\n%s", dot)
	}
	svg := whole.SVG()
	if strings.Count(svg, "<rect") != nodes || strings.Count(svg, "marker-end") != edges || strings.Count(svg, "stroke-dasharray") != edges-1 {
		t.Errorf("not what is in the graph:\n%s", svg)
	}
	for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	column := whole.columns()
	for _, e := range whole.Edges {
		if column[e.From] >= column[e.To] {
			t.Errorf("%s does not stand right of %s", e.To, e.From)
		}
	}
}
