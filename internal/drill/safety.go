package drill

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Marks around the part of the page that the code alone determines, and around the one that a run does.
const (
	SafetyRunBegins  = "<!-- from a run: clew lab drill report DIR -o md -->"
	SafetyRunEnds    = "<!-- end of the run -->"
	SafetyCodeBegins = "<!-- from the code: make docs -->"
	SafetyCodeEnds   = "<!-- end of what the code says -->"
)

// neverClaimed is what no run shows, because the contract does not claim it.
var neverClaimed = []string{
	"Exactly-once delivery.",
	"That a revocation undoes an attempt that is recorded.",
	"That anything here binds a `talosctl` of somebody's, or a second store of Clew.",
	"That a settle time is a bound: a decision after it is a named person's judgement, and is recorded as one.",
	"That a process that is stopped between its send guard and the socket, or a virtual machine that is paused or rolled back there, cannot send late.",
	"That an edit between the last reading and the landing is seen: Talos has no compare-and-apply, and the greatest age of a reading narrows the window.",
}

// notByRows is what these rows cannot show by the way they are made.
var notByRows = []string{
	"The nodes are a lab's. They speak the Talos API over mTLS and keep its order of checks and effects, but no Kubernetes runs behind them. " +
		"`clew lab drill run --talos` plays the rows that break nothing on a worker of your own.",
	"A row is one case and one interleaving, placed by gates. What lies between the gates is the business of the protocol's own tests.",
	"One run gives one value of a time, and no distribution.",
	"Late delivery by TCP's own retransmission shows in network namespaces only; the links of kind userland end TCP on the way.",
}

// groups are the ranges of numbers of a topic.
func (t topic) groups() (ranges [][2]string) {
	for word := range strings.SplitSeq(t.rows, ",") {
		from, to, isRange := strings.Cut(word, "-")
		if !isRange {
			to = from
		}
		ranges = append(ranges, [2]string{from, to})
	}
	return ranges
}

// labels are the topic's rows by name.
func (t topic) labels() string {
	var names []string
	for _, r := range t.rowsOf() {
		names = append(names, r.Label())
	}
	return strings.Join(names, ", ")
}

// Safety writes the page about a run: what was shown, with the numbers of the rows, and what was not.
func (r Result) Safety(w io.Writer) error {
	var b strings.Builder
	b.WriteString(safetyIntroduction)
	b.WriteString(SafetyRunBegins + "\n")
	if err := r.safetyOfRun(&b); err != nil {
		return err
	}
	b.WriteString(SafetyRunEnds + "\n\n" + SafetyCodeBegins + "\n")
	b.WriteString(SafetyOfCode())
	b.WriteString(SafetyCodeEnds + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

const safetyIntroduction = `# What the drill shows about dispatch

` + "`clew lab drill run`" + ` makes the cases of the dispatch contract happen, with real executor processes, real nodes of a lab
and real databases. What a row must read was written before the row first ran, and readers that share no code with the
executor say what was read. This page is written by commands: nothing in it was counted by hand.

`

func (r Result) safetyOfRun(w io.Writer) error {
	said, err := loadRun(r.Out)
	if err != nil {
		return err
	}
	fmt.Fprint(w, "\n## The run\n\n")
	for _, name := range []string{"version", "commit", "uncommitted inputs", "platform", "began", "ended", "stores", "nets", "settle floor"} {
		fmt.Fprintf(w, "- %s: %s\n", name, markdown(said.first(name)))
	}
	fmt.Fprintf(w, "- cells (a row on a store over a kind of links): %d as expected, %d not, %d not to be judged, %d skipped\n",
		r.Count(OK), r.Count(Mismatch), r.Count(Errored), r.Count(Skipped))
	fmt.Fprintf(w, "- secrets found where none may be: %d\n- manifest: sha256 %s\n", len(r.Leaks), r.Digest)
	fmt.Fprint(w, "\n### What was shown\n\n| What | Rows | As expected | Not |\n| --- | --- | --- | --- |\n")
	for _, t := range topics {
		good, all := r.counted(t)
		fmt.Fprintf(w, "| %s | %s | %d of %d | %s |\n", t.title, t.labels(), good, all, r.otherwise(t))
	}
	r.notShown(w)
	m := r.Matrix()
	fmt.Fprintf(w, "\n### Row by row\n\n| Row | %s |\n| --- |%s\n", strings.Join(m.Columns, " | "), strings.Repeat(" --- |", len(m.Columns)))
	for _, l := range m.Lines {
		fmt.Fprintf(w, "| %s | %s |\n", l.Row, strings.Join(l.Verdicts, " | "))
	}
	fmt.Fprintln(w)
	return nil
}

// counted is how many cells of a topic are as expected, of all that there are.
func (r Result) counted(t topic) (good, all int) {
	for _, row := range t.rowsOf() {
		for _, c := range r.Cells {
			if c.Row == row.ID {
				all++
				if c.Verdict == OK {
					good++
				}
			}
		}
	}
	return good, all
}

// otherwise names the cells of a topic that are not as expected.
func (r Result) otherwise(t topic) string {
	var names []string
	for _, row := range t.rowsOf() {
		for _, c := range r.Cells {
			if c.Row == row.ID && c.Verdict != OK {
				names = append(names, c.Key()+": "+string(c.Verdict))
			}
		}
	}
	return markdown(strings.Join(names, ", "))
}

// notShown says what the run leaves open.
func (r Result) notShown(w io.Writer) {
	fmt.Fprint(w, "\n### What this run did not show\n\n")
	if len(r.Missing) == 0 && len(missing(r.Cells)) == 0 {
		fmt.Fprintln(w, "Every row that this program has ran on every store that it is for, and every control showed its failure.")
	}
	reasons := map[string][]string{}
	var order []string
	for _, c := range r.Cells {
		if c.Verdict == OK {
			continue
		}
		reason := string(c.Verdict) + ": " + c.Reason
		if reasons[reason] == nil {
			order = append(order, reason)
		}
		reasons[reason] = append(reasons[reason], c.Key())
	}
	slices.Sort(order)
	for _, reason := range order {
		fmt.Fprintf(w, "- %s (%s)\n", markdown(reason), strings.Join(reasons[reason], ", "))
	}
	// What was left out is said by the rows of this program: the one that ran may have had fewer.
	for _, m := range missing(r.Cells) {
		if strings.HasPrefix(m, partialRun) {
			fmt.Fprintf(w, "- %s\n", markdown(m))
		}
	}
	if r.Interrupted {
		fmt.Fprintf(w, "- %s\n", wasInterrupted)
	}
}

// SafetyOfCode is the part of the page that the table of rows alone determines.
func SafetyOfCode() string {
	var b strings.Builder
	fmt.Fprint(&b, "\n## What the rows are about\n\n")
	for _, t := range topics {
		fmt.Fprintf(&b, "**%s** (%s). %s\n\n", t.title, t.labels(), t.text)
	}
	fmt.Fprint(&b, "## What no row shows\n\nThe contract does not claim it:\n\n")
	for _, line := range neverClaimed {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	fmt.Fprint(&b, "\nThe rows cannot show it:\n\n")
	for _, line := range notByRows {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	fmt.Fprint(&b, "\n## The rows\n\nA row with C is a control: a guard is taken away, and the failure that it prevents has to appear.\n\n"+
		"| Row | Case | Without | Must read |\n| --- | --- | --- | --- |\n")
	for _, r := range Rows() {
		var without []string
		for _, g := range r.Without {
			without = append(without, string(g))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` |\n", r.Label(), markdown(r.Case), strings.Join(without, ", "), strings.ReplaceAll(r.Expect, "|", `\|`))
	}
	b.WriteString("\n")
	return b.String()
}

// markdown makes a text fit for a line and a cell of a table.
func markdown(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "_", `\_`, "*", `\*`).Replace(oneLine(s))
}
