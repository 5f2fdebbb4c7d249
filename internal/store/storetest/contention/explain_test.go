package contention

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"
)

// explain shows how far a history could be followed, and the calls that then could not come next.
func explain(info porcupine.LinearizationInfo, h []porcupine.Operation) string {
	best := []int{}
	for _, partition := range info.PartialLinearizations() {
		for _, ids := range partition {
			if len(ids) > len(best) {
				best = ids
			}
		}
	}
	var b strings.Builder
	done := map[int]bool{}
	for _, id := range best {
		done[id] = true
	}
	fmt.Fprintf(&b, "%d of %d calls fit; the last:\n", len(best), len(h))
	for _, id := range best[max(0, len(best)-12):] {
		fmt.Fprintf(&b, "  %s\n", model.DescribeOperation(h[id].Input, nil))
	}
	b.WriteString("what could not follow:\n")
	shown := 0
	for id, o := range h {
		if !done[id] && shown < 12 {
			shown++
			fmt.Fprintf(&b, "  %s\n", model.DescribeOperation(o.Input, nil))
		}
	}
	return b.String()
}
