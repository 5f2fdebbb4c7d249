package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/talos"
)

// talosFlags are what a command that reaches nodes takes, and what came of it.
type talosFlags struct {
	path   string // --talosconfig
	mu     sync.Mutex
	loaded map[string]*talos.Config // by cluster id
}

// bindTalosconfig adds --talosconfig to a command that reaches nodes.
func (a *app) bindTalosconfig(c *cobra.Command) {
	c.Flags().StringVar(&a.wired.talos.path, "talosconfig", "",
		"talosconfig with the credentials (default: TALOSCONFIG, the one that the cluster was imported with, ~/.talos/config)")
}

// talosconfigRef says where credentials are. Only the path and the context's name are ever kept, never the credentials.
type talosconfigRef struct {
	Path    string `json:"path"`
	Context string `json:"context"`
	source  string
}

// rememberedFile maps cluster ids to the talosconfigs that they were imported with.
const rememberedFile = "talosconfigs.json"

// findTalosconfig says which talosconfig reaches a cluster; "" asks for the one to import from.
func (a *app) findTalosconfig(clusterID string) (talosconfigRef, error) {
	c, err := a.settings()
	if err != nil {
		return talosconfigRef{}, err
	}
	if p := a.wired.talos.path; p != "" {
		return a.namedTalosconfig(p, "--talosconfig")
	}
	if p := a.getenv("TALOSCONFIG"); p != "" {
		return a.namedTalosconfig(p, "TALOSCONFIG")
	}
	if clusterID != "" {
		known, err := a.rememberedTalosconfigs()
		if err != nil {
			return talosconfigRef{}, err
		}
		if r, ok := known[clusterID]; ok {
			r.source = "the cluster's import"
			if a.flags.context != "" {
				r.Context = a.flags.context
			}
			return r, nil
		}
	}
	if c.Talosconfig != "" {
		return a.namedTalosconfig(c.Talosconfig, c.File)
	}
	usual := filepath.Join(c.Dirs.Home, ".talos", "config")
	if clusterID == "" {
		if r, ok, err := a.onlyRemembered(usual); err != nil || ok {
			return r, err
		}
	}
	return a.namedTalosconfig(usual, "Talos' default place")
}

// onlyRemembered is what an import that names no talosconfig means where Talos' own place is empty: the one that was
// imported before.
func (a *app) onlyRemembered(usual string) (talosconfigRef, bool, error) {
	if _, err := os.Stat(usual); !errors.Is(err, fs.ErrNotExist) {
		return talosconfigRef{}, false, nil
	}
	known, err := a.rememberedTalosconfigs()
	if err != nil || len(known) != 1 {
		return talosconfigRef{}, false, err
	}
	for _, r := range known {
		r.source = "the cluster's import"
		if a.flags.context != "" {
			r.Context = a.flags.context
		}
		return r, true, nil
	}
	return talosconfigRef{}, false, nil
}

func (a *app) namedTalosconfig(path, source string) (talosconfigRef, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return talosconfigRef{}, err
	}
	return talosconfigRef{Path: abs, Context: a.flags.context, source: source}, nil
}

func (a *app) rememberedTalosconfigs() (map[string]talosconfigRef, error) {
	c, err := a.settings()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(c.Dirs.State, rememberedFile)
	b, err := readRegular(path, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	known := map[string]talosconfigRef{}
	if err == nil {
		err = json.Unmarshal(b, &known)
	}
	if err != nil {
		return nil, withNext(fmt.Errorf("reading %s: %w: remove it, and import again", path, bare(err)), "clew machine import --talosconfig FILE")
	}
	return known, nil
}

// rememberTalosconfig keeps where the credentials of a cluster are.
func (a *app) rememberTalosconfig(clusterID string, r talosconfigRef) error {
	known, err := a.rememberedTalosconfigs()
	if err != nil {
		return err
	}
	if known[clusterID] == r {
		return nil
	}
	if known == nil {
		known = map[string]talosconfigRef{}
	}
	known[clusterID] = r
	c, err := a.settings()
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return err
	}
	return config.WriteFile(filepath.Join(c.Dirs.State, rememberedFile), append(b, '\n'))
}
