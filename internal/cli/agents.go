package cli

import (
	_ "embed"
	"strings"
)

//go:embed agents.txt
var agentsFile string

// agentSign is one line of agents.txt.
type agentSign struct {
	name      string
	variables []string
}

// agentSigns reads the embedded list. The name ends where two spaces stand.
func agentSigns() []agentSign {
	var signs []agentSign
	for line := range strings.Lines(agentsFile) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, _ := strings.Cut(line, "  ")
		signs = append(signs, agentSign{name: name, variables: strings.Fields(rest)})
	}
	return signs
}

// agent names the agent or pipeline whose environment this is, and the variable that shows it; "" for a person's.
//
// This guards habit, not malice: who wants to can clear the environment. Roles are the control.
func (a *app) agent() (name, variable string) {
	for _, sign := range agentSigns() {
		for _, pattern := range sign.variables {
			if v := a.matchVariable(pattern); v != "" {
				return sign.name, v
			}
		}
	}
	return "", ""
}

// matchVariable returns the set, non-empty variable that fits the pattern.
func (a *app) matchVariable(pattern string) string {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok && !strings.Contains(pattern, "=") {
		first := ""
		for k, v := range a.env {
			if v != "" && strings.HasPrefix(k, prefix) && (first == "" || k < first) {
				first = k
			}
		}
		return first
	}
	if name, want, ok := strings.Cut(pattern, "="); ok {
		v := a.getenv(name)
		if prefix, ok := strings.CutSuffix(want, "*"); v == want || ok && strings.HasPrefix(v, prefix) {
			return name
		}
		return ""
	}
	if v := a.getenv(pattern); v != "" && v != "false" && v != "0" {
		return pattern
	}
	return ""
}
