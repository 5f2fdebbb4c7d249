package drill

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/client"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"

	"github.com/clewops/clew/internal/lab"
)

// NodeReading is what a machine shows to a client of the drill's own, which shares nothing with the product's.
type NodeReading struct {
	Active, Persistent               string // digests; "" where the resource is absent
	ActiveVersion, PersistentVersion string
}

// readDigest is the digest of a configuration: SHA-256 with all trailing newlines replaced by exactly one. It is written
// anew here, because a reader must not share a mistake with what it judges.
func readDigest(b []byte) string {
	sum := sha256.Sum256(append(bytes.TrimRight(bytes.Clone(b), "\n"), '\n'))
	return hex.EncodeToString(sum[:])
}

// ReadNode reads a machine directly, at the address that it has now.
func (s *Stage) ReadNode(m *Machine) NodeReading {
	r, err := s.readNode(m)
	s.must(err, "reading %s with the drill's own client", m.Name())
	return r
}

func (s *Stage) readNode(m *Machine) (r NodeReading, err error) {
	if m.real != nil {
		err = m.real.with(s.ctx, func(ctx context.Context, c *client.Client) error {
			r, err = readBoth(ctx, c)
			return err
		})
		return r, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, readLimit)
	defer cancel()
	c, err := client.New(ctx, client.WithConfigFromFile(s.lab.Talosconfig()), client.WithContextName(lab.ClusterName),
		client.WithEndpoints(m.Address()))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return readBoth(ctx, c)
}

// readBoth reads both resources of a machine's configuration.
func readBoth(ctx context.Context, c *client.Client) (r NodeReading, err error) {
	if r.Active, r.ActiveVersion, err = readConfig(ctx, c, configres.ActiveID); err != nil {
		return r, err
	}
	if r.Active == "" {
		return r, errors.New("the node shows no active configuration")
	}
	r.Persistent, r.PersistentVersion, err = readConfig(ctx, c, configres.PersistentID)
	return r, err
}

func readConfig(ctx context.Context, c *client.Client, id string) (digest, version string, err error) {
	b, version, err := configBytes(ctx, c, id)
	if err != nil || b == nil {
		return "", "", err
	}
	return readDigest(b), version, nil
}

// configBytes reads one resource; nil where there is none.
func configBytes(ctx context.Context, c *client.Client, id string) (b []byte, version string, err error) {
	res, err := safe.StateGetByID[*configres.MachineConfig](ctx, c.COSI, id)
	if state.IsNotFoundError(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading %s: %w", id, err)
	}
	if b, err = res.Provider().Bytes(); err != nil {
		return nil, "", fmt.Errorf("reading %s: %w", id, err)
	}
	return b, res.Metadata().Version().String(), nil
}

// journal is what the node itself wrote down since the row began.
func (s *Stage) journal(m *Machine) []lab.Apply {
	s.labOnly("there is no journal of applies")
	all, err := m.Applies()
	s.must(err, "reading the journal of %s", m.Name())
	if len(all) < m.journal {
		s.Fail("the journal of %s became shorter", m.Name())
	}
	return all[m.journal:]
}

// Landings is how many applies changed the machine since the row began, by the node's own count; of p's bytes only where
// p is not nil.
func (s *Stage) Landings(m *Machine, p *Plan) int {
	n := 0
	for _, a := range s.journal(m) {
		if a.Entry == journalLanded && (p == nil || strings.EqualFold(a.SHA256, p.sum)) {
			n++
		}
	}
	return n
}

// The node's words for what its journal tells.
const (
	journalLanded   = "landed"
	journalAnswered = "answered"
)

// readMachine records what the node says of itself, and of each plan that was made for it.
func (s *Stage) readMachine(i int, m *Machine) {
	prefix := ""
	if i > 0 {
		prefix = fmt.Sprintf("machine-%d.", i+1)
	}
	r := s.ReadNode(m)
	if s.real != nil {
		s.Set("landings", s.writtenSince(m, r))
	} else {
		s.Set(prefix+"landings", s.Landings(m, nil))
		s.Set(prefix+"answered", s.answered(m))
	}
	s.Set(prefix+"runs", s.runs(m, r.Active))
	persistent := "absent"
	if r.Persistent != "" {
		persistent = s.runs(m, r.Persistent)
	}
	s.Set(prefix+"persistent", persistent)
	s.Set(prefix+"versions", r.ActiveVersion+" "+r.PersistentVersion)
	for _, p := range s.plans {
		if p.Machine == m && p.Name != "" && s.real == nil {
			s.Set(p.Name+".landings", s.Landings(m, p))
		}
	}
}

// answered lists how often the node answered applies with which code, dry runs left out.
func (s *Stage) answered(m *Machine) string {
	counts := map[string]int{}
	for _, a := range s.journal(m) {
		if a.Entry == journalAnswered && !a.DryRun {
			counts[a.Code]++
		}
	}
	if len(counts) == 0 {
		return "none"
	}
	var list []string
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%s %d", code, counts[code]))
	}
	return strings.Join(list, ", ")
}

// runs names a digest by the plan that it belongs to.
func (s *Stage) runs(m *Machine, digest string) string {
	for _, p := range s.plans {
		if p.Machine == m && p.digest == digest {
			if p.Name == "" {
				return "planned"
			}
			return p.Name
		}
	}
	if digest == m.before {
		return "before"
	}
	return "other"
}
