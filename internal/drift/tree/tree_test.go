package tree_test

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/clewops/clew/internal/drift/tree"
)

func TestNormalize(t *testing.T) {
	for _, c := range []struct {
		in   any
		want any
	}{
		{nil, nil},
		{true, true},
		{1, int64(1)},
		{float64(3), int64(3)},
		{0.5, 0.5},
		{json.Number("12"), int64(12)},
		{json.Number("1e3"), int64(1000)},
		{uint64(7), int64(7)},
		{map[string]any{"a": []any{1, "x"}}, map[string]any{"a": []any{int64(1), "x"}}},
	} {
		got, err := tree.Normalize(c.in)
		if err != nil || !tree.Same(got, c.want) {
			t.Errorf("Normalize(%v) = %v, %v, want %v", c.in, got, err, c.want)
		}
	}
	for _, bad := range []any{struct{}{}, uint64(math.MaxUint64), json.Number("x"), map[string]any{"a": []any{make(chan int)}}} {
		if got, err := tree.Normalize(bad); err == nil {
			t.Errorf("Normalize(%v) = %v, want an error", bad, got)
		}
	}
}

func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b any
		want bool
	}{
		{int64(1), 1.0, true},
		{int64(1), "1", false},
		{nil, "", false},
		{map[string]any{"a": nil}, map[string]any{}, false},
		{[]any{"a", "b"}, []any{"b", "a"}, false},
		{map[string]any{"a": []any{int64(1)}}, map[string]any{"a": []any{int64(1)}}, true},
		{"x", []any{}, false},
		{[]any{}, map[string]any{}, false},
		{map[string]any{}, nil, false},
	} {
		if got := tree.Same(c.a, c.b); got != c.want {
			t.Errorf("Same(%v, %v) = %v", c.a, c.b, got)
		}
	}
}

func TestSameQuantity(t *testing.T) {
	for _, same := range [][2]any{
		{"1000m", "1"},
		{"1", int64(1)},
		{"1Gi", "1024Mi"},
		{"1Gi", "1073741824"},
		{"1k", "1e3"},
		{"0.5", "500m"},
		{"1E", "1000P"},
		{"100n", "0.1u"},
		{"-1", "-1000m"},
		{"1.", "1"},
		{"+2", "2"},
		{0.5, "500m"},
		{"1.5Gi", "1536Mi"},
	} {
		if !tree.SameQuantity(same[0], same[1]) {
			t.Errorf("%v and %v are one quantity", same[0], same[1])
		}
	}
	for _, different := range [][2]any{
		{"1", "1k"},
		{"1Ki", "1k"},
		{"1G", "1Gi"},
		{"", "0"},
		{"abc", "1"},
		{"1e999999999", "1"},
		{"1..0", "1"},
		{"1mm", "1m"},
		{"-", "0"},
	} {
		if tree.SameQuantity(different[0], different[1]) {
			t.Errorf("%v and %v are two quantities", different[0], different[1])
		}
	}
}

func TestPathForPeople(t *testing.T) {
	for _, c := range []struct {
		path tree.Path
		want string
	}{
		{nil, ""},
		{tree.Fields("spec", "replicas"), "spec.replicas"},
		{tree.Fields("data", "roster.yaml"), `data["roster.yaml"]`},
		{tree.Fields("metadata", "labels", "app.kubernetes.io/name"), `metadata.labels["app.kubernetes.io/name"]`},
		{tree.Fields("spec", "containers").With(tree.KeyStep(map[string]any{"name": "web"})).With(tree.FieldStep("image")), "spec.containers[name=web].image"},
		{tree.Fields("spec", "ports").With(tree.KeyStep(map[string]any{"protocol": "TCP", "containerPort": int64(80)})), "spec.ports[containerPort=80,protocol=TCP]"},
		{tree.Fields("spec", "ports").With(tree.KeyStep(map[string]any{"name": "80"})), `spec.ports[name="80"]`},
		{tree.Fields("metadata", "finalizers").With(tree.ValueStep("a/b")), `metadata.finalizers[="a/b"]`},
		{tree.Fields("args").With(tree.IndexStep(2)), "args[2]"},
		{tree.Fields("a.b", "c"), `["a.b"].c`},
	} {
		if got := c.path.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		back, err := tree.ParsePath(c.want)
		if err != nil || back.String() != c.want || len(back) != len(c.path) {
			t.Errorf("ParsePath(%s) = %v, %v", c.want, back, err)
		}
	}
	for _, bad := range []string{".", "a..b", "a[", `a["b`, "a[b]", "a[b=c", "a]b", "a[1", "a[=]x", "a[=1"} {
		if p, err := tree.ParsePath(bad); err == nil {
			t.Errorf("ParsePath(%q) = %v, want an error", bad, p)
		}
	}
}

func TestParseStep(t *testing.T) {
	for in, want := range map[string]tree.Step{
		`f:a`:                              "f:a",
		`k:{"name":"x"}`:                   `k:{"name":"x"}`,
		`k:{ "protocol":"TCP", "port":80}`: `k:{"port":80,"protocol":"TCP"}`,
		`v:"finalizers.fluxcd.io"`:         `v:"finalizers.fluxcd.io"`,
		`v:"<a>"`:                          `v:"<a>"`,
		`i:0`:                              "i:0",
	} {
		if got, err := tree.ParseStep(in); err != nil || got != want {
			t.Errorf("ParseStep(%s) = %s, %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "x", "q:1", "i:a", "k:[1]", "k:", "v:{", `v:"a" "b"`} {
		if got, err := tree.ParseStep(bad); err == nil {
			t.Errorf("ParseStep(%q) = %s, want an error", bad, got)
		}
	}
}

// anyStep draws a step of every kind, with awkward texts.
func anyStep() *rapid.Generator[tree.Step] {
	text := rapid.StringN(0, 8, 20)
	scalar := rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 3).Draw(t, "sort") {
		case 0:
			return text.Draw(t, "text")
		case 1:
			return rapid.Int64().Draw(t, "number")
		case 2:
			return rapid.Bool().Draw(t, "truth")
		}
		return nil
	})
	return rapid.Custom(func(t *rapid.T) tree.Step {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return tree.IndexStep(rapid.IntRange(0, 99).Draw(t, "place"))
		case 1:
			return tree.ValueStep(scalar.Draw(t, "value"))
		case 2:
			return tree.KeyStep(map[string]any{"name": scalar.Draw(t, "name"), "port": scalar.Draw(t, "port")})
		}
		return tree.FieldStep(text.Draw(t, "field"))
	})
}

func TestPathsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := tree.Path(rapid.SliceOfN(anyStep(), 1, 5).Draw(t, "path"))
		back, err := tree.ParsePath(p.String())
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		if len(back) != len(p) {
			t.Fatalf("%s has %d steps, read back %d", p, len(p), len(back))
		}
		for i := range p {
			if back[i] != p[i] {
				t.Fatalf("%s: step %d is %s, read back %s", p, i, p[i], back[i])
			}
		}
	})
}

func TestDigestIsOfTheValue(t *testing.T) {
	a := map[string]any{"x": int64(1), "y": []any{"a"}}
	b := map[string]any{"y": []any{"a"}, "x": int64(1)}
	if tree.Digest(a) != tree.Digest(b) || tree.Digest(a) == tree.Digest(map[string]any{"x": int64(1)}) {
		t.Error("a digest tells values apart and nothing else")
	}
	if tree.KeyedDigest([]byte("k"), a) == tree.KeyedDigest([]byte("l"), a) || tree.KeyedDigest([]byte("k"), a) == tree.Digest(a) {
		t.Error("a keyed digest depends on the key")
	}
}
