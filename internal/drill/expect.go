package drill

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Verdict is what became of a cell.
type Verdict string

// The verdicts. A skipped cell did not run and says why; an error could not be judged. Neither counts as passed.
const (
	OK       Verdict = "ok"
	Mismatch Verdict = "mismatch"
	Skipped  Verdict = "skipped"
	Errored  Verdict = "error"
)

// clause is one demand on one reading.
type clause struct {
	name string
	op   string // "=", ">=", "<=" or "seen"
	want []string
}

// Expectation is what must be read.
type Expectation []clause

// ParseExpectation reads the notation of the package documentation.
func ParseExpectation(text string) (Expectation, error) {
	var e Expectation
	for part := range strings.SplitSeq(text, ";") {
		c, err := parseClause(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		e = append(e, c)
	}
	if !slices.ContainsFunc(e, func(c clause) bool { return c.op != "seen" }) {
		return nil, fmt.Errorf("the expectation %q judges nothing", text)
	}
	return e, nil
}

func parseClause(text string) (clause, error) {
	if name, ok := strings.CutPrefix(text, "seen:"); ok && name != "" {
		return clause{name: name, op: "seen"}, nil
	}
	i := strings.Index(text, "=")
	if i < 1 || i == len(text)-1 {
		return clause{}, fmt.Errorf("%q is no clause of an expectation", text)
	}
	c := clause{name: text[:i], op: "=", want: strings.Split(text[i+1:], "|")}
	if last := text[i-1]; last == '>' || last == '<' {
		c.name, c.op = text[:i-1], string(last)+"="
		if _, err := strconv.Atoi(c.want[0]); err != nil || len(c.want) > 1 || c.name == "" {
			return clause{}, fmt.Errorf("%q compares with no number", text)
		}
	}
	return c, nil
}

// Reading is one value that a reader found.
type Reading struct{ Name, Value string }

// Readings are those of one cell, in the order in which they were made.
type Readings []Reading

// Get finds a reading.
func (r Readings) Get(name string) (string, bool) {
	for _, x := range r {
		if x.Name == name {
			return x.Value, true
		}
	}
	return "", false
}

// String is the readings as cells.tsv has them. Names and values have no semicolon, tab or newline: see clean.
func (r Readings) String() string {
	parts := make([]string, len(r))
	for i, x := range r {
		parts[i] = x.Name + "=" + x.Value
	}
	return strings.Join(parts, "; ")
}

// ParseReadings reads what String wrote.
func ParseReadings(text string) (Readings, error) {
	var r Readings
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, "; ") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is no reading", part)
		}
		r = append(r, Reading{name, value})
	}
	return r, nil
}

// clean makes a text fit for one field of one line.
func clean(s string) string { return strings.ReplaceAll(oneLine(s), ";", ",") }

// oneLine makes a text fit for one line.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, s))
}

// Judge compares readings with the expectation. A reading that is missing is no mismatch: then nothing can be said.
func (e Expectation) Judge(r Readings) (Verdict, string) {
	var missing, wrong []string
	for _, c := range e {
		got, ok := r.Get(c.name)
		switch {
		case !ok || (c.op == "seen" && got == ""):
			missing = append(missing, c.name)
		case !c.holds(got):
			wrong = append(wrong, fmt.Sprintf("%s is %q, not %s%s", c.name, got, strings.TrimPrefix(c.op, "="), strings.Join(c.want, " or ")))
		}
	}
	switch {
	case len(missing) > 0:
		return Errored, "no reading of " + strings.Join(missing, ", ")
	case len(wrong) > 0:
		return Mismatch, strings.Join(wrong, ", ")
	}
	return OK, ""
}

func (c clause) holds(got string) bool {
	switch c.op {
	case "seen":
		return true
	case "=":
		return slices.Contains(c.want, got)
	}
	n, err := strconv.Atoi(got)
	bound, err2 := strconv.Atoi(c.want[0])
	if err != nil || err2 != nil {
		return false
	}
	return (c.op == ">=" && n >= bound) || (c.op == "<=" && n <= bound)
}
