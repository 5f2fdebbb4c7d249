package act

import (
	"fmt"
	"strings"
	"time"
)

// Expectation is one line of an envelope: a symptom, where it may show, and for how long altogether. The symptom is a
// plain name; whether the graph knows it is the caller's question.
type Expectation struct {
	Symptom string        `json:"symptom"`
	At      string        `json:"at,omitempty"` // kubectl-like name; empty: wherever the graph carries it
	For     time.Duration `json:"for"`          // nanoseconds in JSON, as everywhere in the ledger
}

// Condition is a symptom at which the work is to be stopped.
type Condition struct {
	Symptom string `json:"symptom"`
	At      string `json:"at,omitempty"`
}

// Envelope is what somebody claims a piece of work will look like to others.
type Envelope struct {
	Expected []Expectation `json:"expected,omitempty"`
	AbortIf  []Condition   `json:"abort_if,omitempty"`
}

// Work is what a session says that it is about to do. It is a claim.
type Work struct {
	ID       string    `json:"id"` // w-...
	Session  string    `json:"session"`
	Purpose  string    `json:"purpose"`
	Phase    string    `json:"phase,omitempty"`
	Envelope Envelope  `json:"envelope"`
	On       []string  `json:"on,omitempty"` // what console work touches, as typed
	Long     bool      `json:"long,omitempty"`
	Began    time.Time `json:"began"`
	Until    time.Time `json:"until"`
	Ended    time.Time `json:"ended,omitzero"`
	Failed   string    `json:"failed,omitempty"` // the reason given at the end
}

// Running says whether the work is going on at a moment: it began, was not ended, and its time is not over.
func (w Work) Running(now time.Time) bool {
	return !now.Before(w.Began) && w.Ended.IsZero() && now.Before(w.Until)
}

// claimFactor bounds a claimed duration by the default for the same symptom, unless the work is marked long.
const claimFactor = 4

// Claimed is the duration that counts of a claim: what was said, at most four times the default, unless the work is
// marked long. Without a default the claim stands.
func Claimed(claim, byDefault time.Duration, long bool) time.Duration {
	if long || byDefault <= 0 {
		return claim
	}
	return min(claim, claimFactor*byDefault)
}

// ParseExpectation reads SYMPTOM[@WHAT]=DURATION.
func ParseExpectation(s string) (Expectation, error) {
	left, dur, ok := strings.Cut(s, "=")
	if !ok {
		return Expectation{}, fmt.Errorf("%q has no duration: write SYMPTOM=60s or SYMPTOM@WHAT=60s", s)
	}
	c, err := ParseCondition(left)
	if err != nil {
		return Expectation{}, err
	}
	d, err := time.ParseDuration(dur)
	if err != nil || d <= 0 {
		return Expectation{}, fmt.Errorf("%q is no duration above zero: write 60s, 5m or 1h30m", dur)
	}
	return Expectation{Symptom: c.Symptom, At: c.At, For: d}, nil
}

// ParseCondition reads SYMPTOM[@WHAT].
func ParseCondition(s string) (Condition, error) {
	symptom, at, marked := strings.Cut(s, "@")
	if !isSymptomName(symptom) {
		return Condition{}, fmt.Errorf("%q is no symptom: it is lower-case words joined by hyphens, as in api-gap", symptom)
	}
	if marked && at == "" {
		return Condition{}, fmt.Errorf("%q names nothing after the @", s)
	}
	return Condition{Symptom: symptom, At: at}, nil
}

// isSymptomName says whether s has the shape of a symptom's name.
func isSymptomName(s string) bool {
	if s == "" || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && r != '-' {
			return false
		}
	}
	return true
}
