package drill

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
)

// Matrix is a result for reading: a line a row, a column for each store over each net.
type Matrix struct {
	Columns []string
	Lines   []MatrixLine
}

// MatrixLine is one row's.
type MatrixLine struct {
	Row, Case string
	Verdicts  []string
}

// Matrix arranges the cells.
func (r Result) Matrix() Matrix {
	var m Matrix
	for _, c := range r.Cells {
		if column := string(c.Store) + "/" + string(c.Net); !slices.Contains(m.Columns, column) {
			m.Columns = append(m.Columns, column)
		}
	}
	slices.Sort(m.Columns)
	for _, row := range Rows() {
		l := MatrixLine{Row: row.Label(), Case: row.Case, Verdicts: make([]string, len(m.Columns))}
		played := false
		for _, c := range r.Cells {
			if c.Row == row.ID {
				l.Verdicts[slices.Index(m.Columns, string(c.Store)+"/"+string(c.Net))] = string(c.Verdict)
				played = true
			}
		}
		if played {
			m.Lines = append(m.Lines, l)
		}
	}
	return m
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Error   *junitMessage `xml:"error,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
}

// JUnit writes the result as JUnit XML. That a run is no evidence is an error of its own: a partial run never looks whole.
func (r Result) JUnit(w io.Writer) error {
	s := junitSuite{
		Name: "clew lab drill", Tests: len(r.Cells) + 1, Failures: r.Count(Mismatch), Errors: r.Count(Errored), Skipped: r.Count(Skipped),
	}
	for _, c := range r.Cells {
		j := junitCase{
			Class: "drill." + string(c.Store) + "." + string(c.Net), Name: c.Row,
			Output: "expected: " + c.Expectation + "\nread: " + c.Readings.String() + "\n",
		}
		message := &junitMessage{Message: c.Reason}
		switch c.Verdict {
		case OK:
		case Mismatch:
			j.Failure = message
		case Skipped:
			j.Skipped = message
		case Errored:
			j.Error = message
		}
		s.Cases = append(s.Cases, j)
	}
	whole := junitCase{Class: "drill", Name: "evidence"}
	for _, m := range append(slices.Clone(r.Missing), r.Leaks...) {
		whole.Output += m + "\n"
	}
	switch {
	case len(r.Leaks) > 0:
		s.Failures++
		whole.Failure = &junitMessage{Message: "the search for secrets"}
	case len(r.Missing) > 0:
		s.Skipped++
		whole.Skipped = &junitMessage{Message: "this run is no evidence of the contract"}
	}
	s.Cases = append(s.Cases, whole)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}
