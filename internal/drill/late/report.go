package late

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Problems are what does not hold: a send that landed after it was accounted for with every condition in place, and a
// trial that could not be carried out. A control without a landing is none; the document names it.
func (r *Report) Problems() []string {
	var all []string
	for _, x := range r.Sound {
		if n := x.After(); n > 0 {
			all = append(all, fmt.Sprintf("%s, partition %s: %d landed after it was accounted for", x.Route, x.Split, n))
		}
	}
	notMade := 0
	for _, list := range append([][]Result{r.Table, r.Sound}, r.controlled()...) {
		for _, x := range list {
			if errors.Is(x.Err, errNotMade) {
				notMade++
			} else if x.Err != nil {
				all = append(all, fmt.Sprintf("%s, partition %s, %s: %v", x.Route, x.Split, x.Client, x.Err))
			}
		}
	}
	if notMade > 0 {
		all = append(all, fmt.Sprintf("%d sends were not made", notMade))
	}
	for _, err := range r.Failed {
		all = append(all, err.Error())
	}
	return all
}

func (r *Report) controlled() (lists [][]Result) {
	for _, c := range r.Controlled {
		lists = append(lists, c.Results)
	}
	return lists
}

// Markdown writes the whole report. Every number in it was measured by this run; command repeats it.
func (r *Report) Markdown(w io.Writer, version, command string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Late landings\n\nWritten by `%s` (%s), %s to %s, on Linux %s, %d CPUs; not edited by hand. "+
		"Repeat it with other numbers for another size.\n", command, version,
		r.Began.UTC().Format("2006-01-02 15:04"), r.Ended.UTC().Format("15:04 MST"), kernel(), runtime.NumCPU())
	b.WriteString("\nA request is sent over a connection that stood before a partition began. The sender gives up within the partition: one " +
		"second before its end, and after 15 s at the latest. A *landing* is the node's own count. Times are counted from the heal. Nodes run in network " +
		"namespaces; what arrives late does so by the kernel's retransmission.\n")
	r.table(&b)
	r.soundness(&b)
	r.controls(&b)
	if problems := r.Problems(); len(problems) > 0 {
		b.WriteString("\n## What does not hold\n\n")
		for _, p := range problems {
			fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(p, "\n", " "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func kernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "(release unknown)"
	}
	return strings.TrimSpace(string(b))
}

// cell is one line of the table of landings.
type cell struct {
	route  string
	split  time.Duration
	rate   string
	bytes  int
	client Client
}

func (r *Report) table(b *strings.Builder) {
	if len(r.Table) == 0 {
		return
	}
	cells := map[cell][]Result{}
	for _, x := range r.Table {
		// Configurations of one size differ by a few bytes from node to node.
		c := cell{x.Route, x.Split, cmp.Or(x.Rate, "unlimited"), (x.Bytes + 512) >> 10, x.Client}
		if x.Err == nil {
			cells[c] = append(cells[c], x)
		}
	}
	keys := make([]cell, 0, len(cells))
	for k := range cells {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, c cell) int {
		return cmp.Or(cmp.Compare(a.route, c.route), cmp.Compare(a.client, c.client), cmp.Compare(a.split, c.split),
			cmp.Compare(a.rate, c.rate), cmp.Compare(a.bytes, c.bytes))
	})
	fmt.Fprintf(b, "\n## How often, and how late\n\n%d sends, each combination %d times. *abort*: Clew's own sender, which has the kernel discard what it "+
		"still holds; *cancel*: a plain gRPC client whose call is cancelled; *leave*: a client that never cancels.\n\n"+
		"| Route | Sender | Partition | Link | Payload | Sends | Landed | After the heal |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n",
		len(r.Table), r.Repeat)
	for _, k := range keys {
		landed, times := landings(cells[k])
		fmt.Fprintf(b, "| %s | %s | %s | %s | %d KiB | %d | %d | %s |\n", k.route, k.client, k.split, k.rate, k.bytes, len(cells[k]), landed, span(times))
	}
}

// landings counts the sends that landed, and lists when.
func landings(results []Result) (n int, times []time.Duration) {
	for _, x := range results {
		if len(x.Landings) > 0 {
			n++
			times = append(times, x.Landings...)
		}
	}
	return n, times
}

func span(times []time.Duration) string {
	if len(times) == 0 {
		return "–"
	}
	low, high := seconds(slices.Min(times)), seconds(slices.Max(times))
	if low == high {
		return low
	}
	return low + " to " + high
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func (r *Report) soundness(b *strings.Builder) {
	if len(r.Sound) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Accounting by evidence\n\n%d sends on each route into partitions of %s to %s. No send may land after it was accounted for.\n\n"+
		"| Route | Sends | Landed | Accounted for | After the heal | Landed before that | Landed after that |\n| --- | --- | --- | --- | --- | --- | --- |\n",
		r.Sends, shortest, longest)
	for _, route := range []string{Direct, Endpoint} {
		var mine []Result
		for _, x := range r.Sound {
			if x.Route == route && x.Err == nil {
				mine = append(mine, x)
			}
		}
		landed, _ := landings(mine)
		accounted, after, times := accounted(mine)
		before := 0
		for _, x := range mine {
			if x.Accounted > 0 {
				before += len(x.Landings) - x.After()
			}
		}
		fmt.Fprintf(b, "| %s | %d | %d | %d | %s | %d | %d |\n", route, len(mine), landed, accounted, span(times), before, after)
	}
}

// accounted counts the sends that were accounted for, and the landings after that, and lists when they were.
func accounted(results []Result) (n, after int, times []time.Duration) {
	for _, x := range results {
		if x.Accounted > 0 {
			n++
			times = append(times, x.Accounted)
			after += x.After()
		}
	}
	return n, after, times
}

func (r *Report) controls(b *strings.Builder) {
	if len(r.Controlled) == 0 {
		return
	}
	b.WriteString("\n## Each condition taken away\n\nWithout the condition, all others in place. *Not met*: it did not hold when the rest was complete, " +
		"so that it alone kept the accounting back.\n\n" +
		"| Without | Sends | Accounted for | Not met | Landed after that |\n| --- | --- | --- | --- | --- |\n")
	var unshown []string
	for _, c := range r.Controlled {
		var played []Result
		notMet := 0
		for _, x := range c.Results {
			if x.Err == nil {
				played = append(played, x)
			}
			if x.NotMet {
				notMet++
			}
		}
		n, after, _ := accounted(played)
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d |\n", c.Name, len(played), n, notMet, after)
		if after == 0 {
			unshown = append(unshown, c.Name)
		}
	}
	if len(unshown) == 0 {
		b.WriteString("\nEach was shown to matter.\n")
		return
	}
	b.WriteString("\nNot shown to matter by these trials, because the other conditions kept every landing out, or none was late:\n\n")
	for _, name := range unshown {
		fmt.Fprintf(b, "- %s\n", name)
	}
}
