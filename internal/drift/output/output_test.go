package output_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/drift"
	"github.com/clewops/clew/internal/drift/output"
	"github.com/clewops/clew/internal/drift/owner"
)

var update = flag.Bool("update", false, "write the golden files")

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func report() drift.Report {
	origin := func(revision string) drift.Origin {
		return drift.Origin{Source: "fleet", Revision: revision, AsOf: noon}
	}
	edit := owner.Owner{Manager: "kubectl-edit", Operation: owner.Update, Time: noon.Add(-time.Hour)}
	return drift.Report{
		AsOf: noon, Cluster: "prod",
		Sections: []drift.Section{{
			Kustomization: "flux-system/apps", Head: "main@sha1:bbb", Applied: "main@sha1:aaa",
			Objects: []drift.Object{
				{
					Identity: drift.Identity{Kind: "ConfigMap", Namespace: "demo", Name: "roster"}, Class: drift.Unclaimed,
					Reason: "nobody claims it", Method: drift.MethodRead, Head: origin("main@sha1:bbb"), Live: origin("7"),
					Differences: []drift.Difference{
						{
							Field: `data["roster.yaml"]`, Change: drift.Changed, Head: drift.PlainOf("servers: []\n"), Applied: drift.Absent{},
							Live:   drift.PlainOf("servers:\n- name: fetch\n- name: a very long name that does not fit\n"),
							Owners: []owner.Owner{edit}, Class: drift.Unclaimed, Reason: "nobody claims it",
							Forecast: drift.Forecast{Next: drift.Effect{Outcome: drift.Reverted}},
							Document: &drift.DocumentDiff{
								Format: "yaml", Summary: []string{"servers: live has fetch, moxn; git has none of them"},
								Entries: []drift.Entry{{Path: "servers[name=fetch]", Change: drift.Added, Head: drift.Absent{}, Live: drift.PlainOf(map[string]any{"name": "fetch"})}},
							},
						},
						{Field: "data.ok", Change: drift.Changed, Head: drift.PlainOf("a"), Applied: drift.Absent{}, Live: drift.PlainOf("b"), Class: drift.InSync, Mutator: "robot"},
					},
				},
				{
					Identity: drift.Identity{Group: "apps", Kind: "Deployment", Namespace: "demo", Name: "web"}, Class: drift.Ahead,
					Reason: "demo day", Method: drift.MethodRead,
					Differences: []drift.Difference{{
						Field: "spec.template.spec.containers[name=web].image", Change: drift.Changed, Head: drift.PlainOf("nginx:1"), Applied: drift.PlainOf("nginx:1"),
						Live: drift.PlainOf("nginx:<2>"), Class: drift.Ahead, Reason: "demo day",
						Cover:    &drift.Cover{Record: "k-1", Who: "anna", Reason: "demo day", Until: noon.Add(time.Hour)},
						Forecast: drift.Forecast{Next: drift.Effect{Outcome: drift.Survives, Why: "suspended"}, Resumed: &drift.Effect{Outcome: drift.Reverted, RollsPods: true, NotReproduced: true}},
					}},
				},
				{Identity: drift.Identity{Kind: "Service", Namespace: "demo", Name: "web"}, Class: drift.Unknown, Reason: "live could not be read: 403", Method: drift.MethodRead},
				{Identity: drift.Identity{Kind: "Namespace", Name: "demo"}, Class: drift.InSync, Method: drift.MethodRead},
			},
			Events: []drift.Event{{Kind: drift.Merged, Record: "k-2", Object: drift.Identity{Kind: "ConfigMap", Name: "x"}, Field: "data.a", Who: "ben", Reason: "r"}},
		}},
		Skipped: []drift.Skipped{{Kind: "HelmRelease", Names: []string{"media/jellyfin"}, Why: "not supported yet"}},
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (run with -update if that is meant):\n%s", name, got)
	}
}

func TestForms(t *testing.T) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(output.NewView(report(), false)); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", b.Bytes())

	b.Reset()
	for _, row := range append([][]string{output.Columns}, output.Rows(report(), true, func(t time.Time) string { return t.Format("15:04") })...) {
		b.WriteString(strings.Join(row, " | ") + "\n")
	}
	b.WriteString("\n" + strings.Join(output.Summary(report()), "\n") + "\n")
	golden(t, "report.txt", b.Bytes())

	sarif, err := output.SARIF(report(), "v1")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.sarif", sarif)
	junit, err := output.JUnit(report())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.xml", junit)
}

// What is in sync shows only when asked for.
func TestAll(t *testing.T) {
	when := func(time.Time) string { return "" }
	if some, all := len(output.Rows(report(), false, when)), len(output.Rows(report(), true, when)); some != 3 || all != 5 {
		t.Errorf("%d rows, and %d with all", some, all)
	}
	if some, all := output.NewView(report(), false), output.NewView(report(), true); len(some.Kustomizations[0].Objects) != 3 || len(all.Kustomizations[0].Objects) != 4 {
		t.Error("the view shows what is in sync, or not when it should")
	}
}

// Texts from a cluster do not break the formats.
func TestHostileTexts(t *testing.T) {
	r := report()
	r.Sections[0].Objects[0].Differences[0].Live = drift.PlainOf("\x1b[31m\x00<a>&\"']]>")
	r.Sections[0].Objects[0].Reason = "\x00<&"
	junit, err := output.JUnit(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(junit, new(struct{})); err != nil {
		t.Errorf("%v\n%s", err, junit)
	}
	sarif, err := output.SARIF(r, "")
	if err != nil || !json.Valid(sarif) {
		t.Errorf("%v\n%s", err, sarif)
	}
}
