package lab

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/version"
	"golang.org/x/sync/errgroup"

	"github.com/clewops/clew/internal/lab/link"
	"github.com/clewops/clew/internal/lab/node"
)

const linkSettings = "link.json"

// withDefaults fills what was left empty and refuses what cannot be.
func (cfg Config) withDefaults() (Config, error) {
	if cfg.Links == "" {
		cfg.Links = LinksNone
	}

	if cfg.Workers == 0 {
		cfg.Workers = 2
	}

	if cfg.Version == "" {
		cfg.Version = version.Tag
	}

	if cfg.Timing.Stop == 0 {
		cfg.Timing.Stop = DefaultTiming.Stop
	}

	if cfg.Timing.Gap == 0 {
		cfg.Timing.Gap = DefaultTiming.Gap
	}

	if cfg.Timing.Boot == 0 {
		cfg.Timing.Boot = DefaultTiming.Boot
	}

	switch cfg.Links {
	case LinksNone, LinksUserland:
		if cfg.Rate != "" {
			return cfg, orderErrorf("a rate needs links of kind %s", LinksNetns)
		}
	case LinksNetns:
		if err := netnsOffered(); err != nil {
			return cfg, err
		}
	default:
		return cfg, orderErrorf("there is no kind of links %q; there are %s, %s and %s", cfg.Links, LinksNone, LinksUserland, LinksNetns)
	}

	if cfg.Workers < 0 || cfg.Workers >= maxNodes {
		return cfg, orderErrorf("a lab has 1 to %d workers", maxNodes-1)
	}

	if !node.ValidVersion(cfg.Version) {
		return cfg, orderErrorf("%q is no Talos version; one looks like %s", cfg.Version, version.Tag)
	}

	if cfg.Timing.Stop < 0 || cfg.Timing.Gap < 0 || cfg.Timing.Boot < 0 {
		return cfg, orderErrorf("times are not negative")
	}

	if cfg.Exe == "" || cfg.Dir == "" {
		return cfg, errors.New("a lab needs a directory and a program to start")
	}

	if runtime.GOOS != "linux" {
		return cfg, &NotOfferedError{Reason: "a lab is offered on Linux only: it needs a loopback address per node"}
	}

	dir, err := filepath.Abs(cfg.Dir)
	cfg.Dir = dir

	return cfg, err
}

func up(ctx context.Context, cfg Config) (*Lab, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}

	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, err
	}

	unlock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer unlock()

	if _, err := readRecord(cfg.Dir); !errors.Is(err, ErrNoLab) {
		return nil, errors.Join(fmt.Errorf("%w: %s", ErrAlreadyUp, cfg.Dir), err)
	}

	rec, err := plan(cfg)
	if err != nil {
		return nil, err
	}

	l := &Lab{dir: cfg.Dir, rec: rec}

	// The record comes first: whatever is made from here on can be found and removed, whoever dies.
	if err := writeJSON(filepath.Join(cfg.Dir, recordFile), rec); err != nil {
		return nil, err
	}

	if err := l.build(ctx, cfg); err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()

		return nil, errors.Join(err, l.remove(clean))
	}

	return l, nil
}

// plan decides names and addresses.
func plan(cfg Config) (record, error) {
	var raw [3]byte

	rand.Read(raw[:]) // never fails
	id := hex.EncodeToString(raw[:])

	rec := record{
		ID: id, Created: time.Now(), Links: cfg.Links, Version: cfg.Version, Timing: cfg.Timing, Rate: cfg.Rate,
		Exe: cfg.Exe, RunDir: filepath.Join(shortTemp(), "clew-lab-"+id),
		Nodes: []nodeRecord{{Name: "cp-1"}},
	}

	for i := range cfg.Workers {
		rec.Nodes = append(rec.Nodes, nodeRecord{Name: fmt.Sprintf("worker-%d", i+1), Worker: true})
	}

	var (
		network netip.Prefix
		err     error
	)

	if cfg.Links == LinksNetns {
		rec.Switch, rec.HostLink = "clew-"+id+"-switch", "clew-"+id
		for i := range rec.Nodes {
			rec.Nodes[i].Netns = "clew-" + id + "-" + rec.Nodes[i].Name
		}

		network, err = privateNetwork(networksInUse())
	} else {
		network, err = loopbackNetwork(rec.Nodes, cfg.Links == LinksUserland)
	}

	if err != nil {
		return record{}, err
	}

	rec.Network = network.String()
	assign(rec.Nodes, network, cfg.Links == LinksUserland)

	return rec, nil
}

// shortTemp is a temporary directory whose name leaves room for a socket's.
func shortTemp() string {
	if dir := os.TempDir(); len(dir) <= 60 {
		return dir
	}

	return "/tmp"
}

// build makes everything that the record names and waits until it works.
func (l *Lab) build(ctx context.Context, cfg Config) error {
	if err := os.Mkdir(l.rec.RunDir, 0o700); err != nil {
		return err
	}

	if err := l.writeFiles(); err != nil {
		return err
	}

	if l.rec.Links == LinksNetns {
		if err := l.makeNetns(ctx); err != nil {
			return err
		}
	}

	s := &starter{exe: cfg.Exe}

	if cfg.Tied {
		tied, err := tie(l.dir)
		if err != nil {
			return err
		}
		defer tied.Close()

		s.tied = tied

		if err := l.startIn(s, l.keeperDir(), "", childKeeper, l.dir); err != nil {
			return err
		}
	}

	if l.rec.Links == LinksUserland {
		if err := l.startLink(s); err != nil {
			return err
		}
	}

	var ready errgroup.Group

	for _, n := range l.Nodes() {
		if err := s.start(n.Dir(), n.rec.Netns, childNode, l.dir, n.Name()); err != nil {
			return err
		}

		ready.Go(func() error { return n.waitReady(ctx) })
	}

	return ready.Wait()
}

func (l *Lab) startIn(s *starter, dir, netns string, args ...string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}

	return s.start(dir, netns, args...)
}

func (l *Lab) startLink(s *starter) error {
	settings := link.Settings{Socket: l.linkSocket()}
	for _, n := range l.rec.Nodes {
		settings.Nodes = append(settings.Nodes, link.Node{Name: n.Name, Public: n.Public, Backing: n.Backing})
	}

	if err := os.MkdirAll(l.linkDir(), 0o700); err != nil {
		return err
	}

	if err := writeJSON(filepath.Join(l.linkDir(), linkSettings), settings); err != nil {
		return err
	}

	return s.start(l.linkDir(), "", childLink, l.dir)
}

// writeFiles makes the cluster and fills the directories.
func (l *Lab) writeFiles() error {
	c, err := newCluster(l.rec.Version, l.rec.Nodes)
	if err != nil {
		return err
	}

	config, err := c.talosconfig()
	if err != nil {
		return err
	}

	if err := writeFile(l.Talosconfig(), config); err != nil {
		return err
	}

	for _, n := range l.rec.Nodes {
		dir := l.nodeDir(n.Name)
		if err := c.writeNode(dir, n); err != nil {
			return err
		}

		if err := l.nodeSettings(n).Save(dir); err != nil {
			return err
		}
	}

	return nil
}

func (l *Lab) nodeSettings(n nodeRecord) node.Settings {
	s := node.Settings{
		Name: n.Name, Worker: n.Worker, Version: l.rec.Version, RunDir: l.rec.RunDir, Timing: node.Timing(l.rec.Timing),
		Address: n.Public, Spare: n.Spare,
	}

	switch l.rec.Links {
	case LinksNone:
		s.Listen = n.Public
	case LinksUserland:
		s.Listen, s.Source, s.LinkSocket = n.Backing, n.Backing, l.linkSocket()
	case LinksNetns:
		s.Interface, s.PrefixBits = nodeInterface, 24
	}

	return s
}
