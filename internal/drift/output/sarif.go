package output

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/clewops/clew/internal/drift"
)

type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID   string    `json:"id"`
		Text sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string            `json:"ruleId"`
		Level     string            `json:"level"`
		Message   sarifText         `json:"message"`
		Locations []sarifLocation   `json:"locations"`
		Prints    map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Logical []sarifLogical `json:"logicalLocations"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
)

// ruleTexts say what the classes mean.
var ruleTexts = map[drift.Class]string{
	drift.Unclaimed:    "The cluster differs from Git and nobody claims it.",
	drift.NotLive:      "Git has the object, the cluster has not.",
	drift.Extra:        "The cluster and the inventory have the object, Git has not.",
	drift.Orphan:       "The object is labelled as Flux' and in no inventory.",
	drift.AheadExpired: "A difference that was deliberate until its record ended.",
	drift.Stale:        "Git is newer than what was applied, and Flux has had its time or cannot apply it.",
	drift.Unknown:      "It could not be determined whether the cluster differs from Git.",
	drift.Ahead:        "A deliberate difference.",
	drift.Pending:      "Git is newer than what was applied, and Flux has time left.",
}

// SARIF is the report in the format of code scanning, version 2.1.0. Classes that need somebody are errors or warnings,
// covered ones notes.
func SARIF(r drift.Report, version string) ([]byte, error) {
	run := sarifRun{Tool: sarifTool{Driver: sarifDriver{Name: "clew", Version: version}}, Results: []sarifResult{}}
	for _, c := range order {
		if text, ok := ruleTexts[c]; ok {
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: "drift/" + string(c), Text: sarifText{text}})
		}
	}
	each(r, func(o drift.Object, d drift.Difference, text string) {
		run.Results = append(run.Results, sarifResult{
			RuleID: "drift/" + string(d.Class), Level: level(d.Class), Message: sarifText{text},
			Locations: []sarifLocation{{Logical: []sarifLogical{{Name: location(o, d), Kind: "resource"}}}},
			Prints:    map[string]string{"clewDrift/v1": string(d.Class) + " " + o.Identity.Group + " " + location(o, d)},
		})
	})
	log := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(log)
	return b.Bytes(), err
}

func level(c drift.Class) string {
	switch {
	case c == drift.Unknown:
		return "warning"
	case c.Calls():
		return "error"
	}
	return "note"
}

// each calls with every visible difference and a sentence about it. An object without one that is not in sync counts as
// one: why it is unknown.
func each(r drift.Report, call func(drift.Object, drift.Difference, string)) {
	for _, s := range r.Sections {
		for _, o := range s.Objects {
			shown := 0
			for _, d := range o.Differences {
				if d.Visible() {
					shown++
					call(o, d, sentence(o, d))
				}
			}
			if shown == 0 && o.Class != drift.InSync {
				call(o, drift.Difference{Class: o.Class}, fmt.Sprintf("%s %s: %s", o.Class, o.Identity, o.Reason))
			}
		}
	}
}

type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitProblem `xml:"failure,omitempty"`
		Error   *junitProblem `xml:"error,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit is the report for a pipeline: a suite for each Kustomization, a case for each object. What needs somebody is a
// failure, what could not be determined an error.
func JUnit(r drift.Report) ([]byte, error) {
	var out junitSuites
	for _, s := range r.Sections {
		suite := junitSuite{Name: s.Kustomization, Tests: len(s.Objects)}
		for _, o := range s.Objects {
			c := junitCase{Class: s.Kustomization, Name: o.Identity.String()}
			var lines []string
			each(drift.Report{Sections: []drift.Section{{Objects: []drift.Object{o}}}}, func(_ drift.Object, _ drift.Difference, text string) {
				lines = append(lines, text)
			})
			problem := &junitProblem{Message: o.Reason, Type: string(o.Class), Text: clean(strings.Join(lines, "\n"))}
			problem.Message = clean(problem.Message)
			switch code := drift.ExitCode(o.Classes()); code {
			case 2:
				c.Failure = problem
				suite.Failures++
			case 1:
				c.Error = problem
				suite.Errors++
			}
			suite.Cases = append(suite.Cases, c)
		}
		out.Suites = append(out.Suites, suite)
	}
	b, err := xml.MarshalIndent(out, "", "  ")
	return append([]byte(xml.Header), append(b, '\n')...), err
}

// clean takes out what XML has no way to write.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, s)
}
