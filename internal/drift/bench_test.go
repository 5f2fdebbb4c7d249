package drift_test

import (
	"fmt"
	"testing"

	"github.com/clewops/clew/internal/drift"
	"github.com/clewops/clew/internal/drift/tree"
)

// The cost of judging a Kustomization of 1,000 objects, of which one in a hundred was edited.
func BenchmarkJudge(b *testing.B) {
	var subjects []drift.Subject
	all := kinds(b)
	for i := range 1000 {
		head, _ := tree.Copy(all[i%len(all)]).(map[string]any)
		tree.Map(head, "metadata")["name"] = fmt.Sprintf("object-%d", i)
		w := appliedObject(b, head)
		if i%100 == 0 {
			w.writes("kubectl-edit", "", "metadata.labels.edited", "yes")
		}
		subjects = append(subjects, w.subject())
	}
	b.ReportAllocs()
	for b.Loop() {
		drift.Judge(drift.Input{Now: day, Flow: ref, Subjects: subjects})
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(subjects)), "µs/object")
}
