package notice

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/clewops/clew/internal/graph"
)

// LongestLine bounds a line, in characters.
const LongestLine = 240

// Style says how a line is written.
type Style struct {
	ASCII bool           // no character outside ASCII
	Zone  *time.Location // of the times; nil: UTC
}

// parts are the pieces of a line, in order. When it gets too long they give way: first the path loses its middle, then
// the doing its end, then what is nearest, then the path goes. What the verdict is and what to do about it never do.
type parts struct {
	head    string
	doing   string
	measure string
	path    []graph.Name
	near    string
	rest    []string
}

// Line is the one line that a session reads after a failed command, without the newline; empty if there is nothing to
// say.
func (a Answer) Line(style Style) string {
	if !a.Say {
		return ""
	}
	clock := func(t time.Time, layout string) string {
		if style.Zone == nil {
			return t.UTC().Format(layout)
		}
		return t.In(style.Zone).Format(layout)
	}
	var p parts
	switch a.Kind {
	case Explained:
		p = a.explained(clock)
	case Own:
		p = a.own()
	case Exceeded:
		p = a.exceeded(clock)
	case Unexplained:
		p = a.unexplained(clock)
	default:
		p = a.unknown(clock)
	}
	return p.fit(style)
}

const (
	full  = "15:04:05"
	brief = "15:04"
)

func (a Answer) explained(clock func(time.Time, string) string) parts {
	p := parts{
		head: "EXPLAINED by " + a.Cause + ": ", doing: strings.TrimSpace(a.Who + " " + a.Doing), path: a.Path,
		measure: fmt.Sprintf("%s %s of <=%s%s", a.label(), seconds(a.Measured), seconds(a.Allowed), a.probe(clock)),
	}
	if a.At.Sub(a.Ledger) > stale {
		p.measure += ", as known " + clock(a.Ledger, brief)
	}
	p.rest = []string{"wait, retry after " + clock(a.Over, full) + "; no incident, no repair", "clew why " + a.Cause}
	return p
}

func (a Answer) own() parts {
	if a.Authors {
		return parts{
			head:    "OWN: ",
			measure: fmt.Sprintf("%s; %s is your own work and does not excuse your error", a.state(), a.Cause),
			rest:    []string{"take this error as your own", "clew why " + a.Cause},
		}
	}
	text := fmt.Sprintf("%s answers (%d ms); take this error as your own", a.what(), a.Saw.Took.Milliseconds())
	if a.May != "" {
		text += " (" + a.May + " runs, but does not explain it)"
	}
	return parts{head: "OWN: ", measure: text}
}

func (a Answer) exceeded(clock func(time.Time, string) string) parts {
	p := parts{head: "EXCEEDED " + a.Cause + ": ", measure: a.breach(clock)}
	announced := "not announced yet"
	if e := a.Announce; e != nil {
		announced = "announced " + clock(e.Opened, full)
		if len(e.Receivers) > 0 {
			announced += " to " + strings.Join(e.Receivers, ", ")
		}
	}
	p.rest = []string{announced, "stop, tell your human, do not repair", "clew why " + a.Cause}
	return p
}

// breach says both numbers, or what there is instead of numbers.
func (a Answer) breach(clock func(time.Time, string) string) string {
	switch a.Breach {
	case Stronger:
		return fmt.Sprintf("%s on %d, expected on %d", a.broken(), a.Strength, a.Expected)
	case Aborts:
		return fmt.Sprintf("%s %s, at which the work was to be stopped", a.broken(), seconds(a.Measured))
	case Late:
		return fmt.Sprintf("%s since %s, after all that was expected had ended", a.broken(), clock(a.From, full))
	case Differs:
		return fmt.Sprintf("%s %s, which was not expected of it", a.broken(), seconds(a.Measured))
	default:
		return fmt.Sprintf("%s %s, allowed <=%s", a.broken(), seconds(a.Measured), seconds(a.Allowed))
	}
}

func (a Answer) unexplained(clock func(time.Time, string) string) parts {
	p := parts{head: "UNEXPLAINED: ", measure: fmt.Sprintf("%s (probe %s); nobody's work explains it", a.state(), clock(a.Saw.At, full))}
	if len(a.Near) > 0 {
		p.near = "nearest: " + a.Near[0].Text + " " + clock(a.Near[0].At, brief)
	}
	p.rest = []string{"tell your human now", "clew why"}
	return p
}

func (a Answer) unknown(clock func(time.Time, string) string) parts {
	p := parts{head: "UNKNOWN: ", rest: []string{"treat as unexplained"}}
	switch {
	case a.Saw.Found == NoAnswer:
		p.measure = fmt.Sprintf("%s could not be probed (%s)", a.what(), a.Saw.Detail)
	case a.Ledger.IsZero():
		p.measure = "ledger never reached; notices are missing"
	default:
		p.measure = fmt.Sprintf("ledger not reached since %s (%s); notices may be missing", clock(a.Ledger, brief), minutes(a.At.Sub(a.Ledger)))
	}
	return p
}

// label is the symptom's name in a line; broken is it when there is too much of it.
func (a Answer) label() string {
	if s, ok := a.Symptom.About(); ok {
		return s.Label
	}
	return string(a.Symptom)
}

func (a Answer) broken() string {
	if s, ok := a.Symptom.About(); ok {
		return s.Broken
	}
	return string(a.Symptom)
}

// what is the probed thing with its cluster: prod's API, cp-2.
func (a Answer) what() string {
	if a.Node.Kind().Singleton() {
		return a.Node.Cluster() + "'s " + a.Node.Label()
	}
	return a.Node.Label()
}

// state says what the probe saw, in words.
func (a Answer) state() string {
	switch a.Saw.Detail {
	case "refused":
		return a.what() + " refuses"
	case "timeout", "":
		return a.what() + " does not answer"
	default:
		return a.what() + " answers " + a.Saw.Detail
	}
}

func (a Answer) probe(clock func(time.Time, string) string) string {
	if a.Saw.At.IsZero() {
		return ""
	}
	detail := a.Saw.Detail
	if detail == "" {
		detail = "no answer"
	}
	return fmt.Sprintf(" (probe: %s %s)", detail, clock(a.Saw.At, full))
}

// seconds is a duration for people: 14 s, 94 s, 12 min.
func seconds(d time.Duration) string {
	if d < 3*time.Minute {
		return fmt.Sprintf("%d s", int(d.Round(time.Second)/time.Second))
	}
	return fmt.Sprintf("%d min", int(d.Round(time.Minute)/time.Minute))
}

func minutes(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d/time.Second))
	}
	return fmt.Sprintf("%d min", int(d/time.Minute))
}

// fit writes the line and shortens it until it fits.
func (p parts) fit(style Style) string {
	pathText := graph.Text(p.path)
	shorten := []func(){
		func() {
			if len(p.path) > 3 {
				pathText = graph.Text(p.path[:1]) + ">..>" + graph.Text(p.path[len(p.path)-2:])
			}
		},
		func() { p.doing = cut(p.doing, 40) },
		func() { p.near = cut(p.near, 60) },
		func() { p.doing, pathText = cut(p.doing, 24), cut(pathText, 48) },
		func() { pathText = "" },
		func() { p.near = "" },
		func() { p.measure = cut(p.measure, 120) },
		func() { p.rest[0] = cut(p.rest[0], 60) },
	}
	line := p.write(pathText, style)
	for _, f := range shorten {
		if len([]rune(line)) <= LongestLine {
			return line
		}
		f()
		line = p.write(pathText, style)
	}
	return cut(line, LongestLine)
}

func (p parts) write(path string, style Style) string {
	dot := " · "
	if style.ASCII {
		dot = " - "
	}
	var list []string
	for _, s := range append([]string{p.doing, p.measure, path, p.near}, p.rest...) {
		if s != "" {
			list = append(list, s)
		}
	}
	return clean("clew: "+p.head+strings.Join(list, dot), style)
}

// clean keeps a line one line, and the terminal as it is: whatever others wrote into names and purposes, control
// characters and what changes the direction of writing do not get through.
func clean(s string, style Style) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case !unicode.IsPrint(r):
			return -1
		case style.ASCII && r > unicode.MaxASCII:
			return '?'
		}
		return r
	}, s)
}

// cut shortens a text to a number of characters.
func cut(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return strings.TrimRight(string(r[:max(0, most-2)]), " ") + ".."
}
