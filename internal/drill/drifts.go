package drill

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/clewops/clew/internal/dispatch"
)

// written counts what planning may write, over the whole ledger: plans, configurations, operations, selections.
func (s *Stage) written() (sum int) {
	for name, value := range s.Query("written.sql") {
		n, err := strconv.Atoi(value)
		s.must(err, "counting %s", name)
		sum += n
	}
	return sum
}

// ProposeAdoption makes a plan that accepts what a machine runs. It binds the machine's open drift record.
func (s *Stage) ProposeAdoption(m *Machine, name string, terms ...Terms) *Plan {
	return s.proposeAs(m, name, func(o dispatch.Observation, config []byte) (dispatch.Plan, []byte) {
		d := s.terms(m, o, config)
		d.Kind, d.Operation, d.Mode, d.Post = dispatch.KindAdopt, "", "", dispatch.Postconditions{}
		d.Pre.Ready, d.Expected = false, o.Reading.Active.Digest
		for _, t := range terms {
			t(&d)
		}
		return d, config
	})
}

// Revert makes and approves a plan that goes back to what was applied, over the machine's open drift record.
func (s *Stage) Revert(m *Machine, name string, terms ...Terms) *Plan {
	p := s.proposeAs(m, name, func(o dispatch.Observation, _ []byte) (dispatch.Plan, []byte) {
		d := s.terms(m, o, m.config)
		for _, t := range terms {
			t(&d)
		}
		return d, m.config
	})
	s.Approve(p, approver)
	return p
}

// proposeAs records a plan that is made of a reading.
func (s *Stage) proposeAs(m *Machine, name string, make func(dispatch.Observation, []byte) (dispatch.Plan, []byte)) *Plan {
	p := &Plan{Name: name, Machine: m}
	s.asInstance(func(instance string) {
		o, running := s.read(instance, m, dispatch.Observation{Purpose: dispatch.ForPlanning, Route: s.usualRoute()})
		d, config := make(o, running)
		sum := sha256.Sum256(config)
		p.config, p.digest, p.sum = config, readDigest(config), hex.EncodeToString(sum[:])
		if p.digest == m.before {
			p.digest = "" // what ran before the row is called that
		}
		p.ID = s.record(d, o, config).ID
	})
	s.plans = append(s.plans, p)
	s.Note("plan %q is %s for %s (%s)", name, p.ID, m.Name(), "made of what it runs")
	return p
}

// setDrifts reads the machine's drift records: how many were ever opened and how each stands, how often a further reading
// was added, and whether the open one shows what the machine runs.
func (s *Stage) setDrifts(m *Machine) {
	found := s.Query("drifts.sql", "machine", m.ID)
	s.Set("drifts", found["drifts"])
	s.Set("added", found["added"])
	shows := "none"
	if d := found["digest"]; d != "none" {
		shows = "other"
		if d == s.ReadNode(m).Active {
			shows = "what runs"
		}
	}
	s.Set("drift-shows", shows)
}
