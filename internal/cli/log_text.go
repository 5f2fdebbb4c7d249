package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/clewops/clew/internal/dispatch"
)

// writeLog writes what is there. A followed log is a stream of single entries from its beginning on.
func (a *app) writeLog(what string, lines []logLine, o logOptions) error {
	if o.follow {
		for _, l := range lines {
			if err := a.writeLine(l); err != nil {
				return err
			}
		}
		return nil
	}
	if a.flags.output == "md" {
		return writeMarkdown(a.stdout, what, lines)
	}
	return a.emit(lines, func(w io.Writer) error {
		if len(lines) == 0 {
			_, err := fmt.Fprintln(w, "no entries")
			return err
		}
		t := newTable(w, a.logColumns()...)
		for _, l := range lines {
			t.row(a.logCells(l)...)
		}
		return t.flush()
	})
}

func (a *app) logColumns() []string {
	columns := []string{"TIME", "WHERE", "BY", "WHAT"}
	if a.flags.verbose {
		columns = append(columns, "REVISION", "EPOCH", "GENERATION", "HASH")
	}
	return columns
}

func (a *app) logCells(l logLine) []string {
	cells := []string{showTime(l.At), l.where(), l.By, l.Text}
	if a.flags.verbose {
		cells = append(cells, fmt.Sprint(l.Revision), dispatch.ShortDigest(l.Actor.Epoch), fmt.Sprint(l.Actor.Generation),
			dispatch.ShortDigest(l.Hash.String()))
	}
	return cells
}

// writeLine writes one entry of a followed log: a line of JSON, a document of YAML, or a line of text.
func (a *app) writeLine(l logLine) error {
	switch a.flags.output {
	case "json":
		b, err := json.Marshal(l)
		if err == nil {
			_, err = fmt.Fprintln(a.stdout, string(b))
		}
		return err
	case "yaml":
		fmt.Fprintln(a.stdout, "---")
		return a.emit(l, nil)
	case "md":
		return writeMarkdownRow(a.stdout, l)
	}
	_, err := fmt.Fprintln(a.stdout, printable(strings.Join(a.logCells(l), "  ")))
	return err
}

// writeMarkdown writes a post-mortem's timeline.
func writeMarkdown(w io.Writer, what string, lines []logLine) error {
	title := "everything"
	if what != "" {
		title = what
	}
	fmt.Fprintf(w, "## Timeline of %s\n\n| UTC | Where | By | What | Entry |\n| --- | --- | --- | --- | --- |\n", markdown(title))
	for _, l := range lines {
		if err := writeMarkdownRow(w, l); err != nil {
			return err
		}
	}
	return nil
}

func writeMarkdownRow(w io.Writer, l logLine) error {
	by := l.By
	if l.Role != "" {
		by += " (" + l.Role + ")"
	}
	_, err := fmt.Fprintf(w, "| %s | %s | %s | %s | %s@%d |\n", l.At.UTC().Format("2006-01-02 15:04:05"), markdown(l.where()),
		markdown(by), markdown(l.Text), markdown(l.Scope), l.Revision)
	return err
}

// markdown escapes what would break a table or make markup of somebody's text.
var markdownEscapes = strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`)

func markdown(s string) string { return markdownEscapes.Replace(printable(s)) }
