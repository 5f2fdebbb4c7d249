package drill

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/lab"
)

// transcript is what happened in one group on one store over one net, in order. Its READING lines are what cells.tsv is
// checked against.
type transcript struct {
	mu   sync.Mutex
	file *os.File
	err  error // the first that writing met; the run is no evidence then
	hide func(string) string
}

func (t *transcript) line(kind, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := fmt.Fprintf(t.file, "%s %-8s %s\n", stamp(), kind, oneLine(text)); err != nil && t.err == nil {
		t.err = err
	}
}

func (t *transcript) note(format string, args ...any) {
	t.line("note", t.hide(fmt.Sprintf(format, args...)))
}

func (t *transcript) begin(r Row, store config.Engine, net lab.LinkMode) {
	t.line("ROW", cellName(r.ID, store, net)+" "+r.Case)
	t.line("expects", r.Expect)
}

func (t *transcript) reading(r Row, store config.Engine, net lab.LinkMode, x Reading) {
	t.line("READING", cellName(r.ID, store, net)+" "+x.Name+"="+x.Value)
}

func (t *transcript) verdict(c Cell) {
	t.line("VERDICT", strings.TrimSpace(cellName(c.Row, c.Store, c.Net)+" "+string(c.Verdict)+" "+c.Reason))
}

// output is what an executor said. It judges nothing.
func (t *transcript) output(name, text string) {
	for line := range strings.Lines(text) {
		t.line("said", name+": "+strings.TrimRight(line, "\n"))
	}
}

func (t *transcript) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.file.Close(); t.err == nil {
		t.err = err
	}
	return t.err
}

func cellName(row string, store config.Engine, net lab.LinkMode) string {
	return row + " " + string(store) + " " + string(net)
}
