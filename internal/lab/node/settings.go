package node

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Timing sets how long a node's sequences take.
type Timing struct {
	Stop time.Duration `json:"stop"` // API still answers after a sequence was accepted
	Gap  time.Duration `json:"gap"`  // API away between two boots
	Boot time.Duration `json:"boot"` // stage booting after the API is back
}

// Settings are what a node is told once, in node.json of its directory.
type Settings struct {
	Name   string `json:"name"`
	Worker bool   `json:"worker"`
	// Version is the Talos version that the first boot reports.
	Version string `json:"version"`
	// Listen is the address apid binds; empty means every address of the network namespace.
	Listen string `json:"listen"`
	// Source is the local address of connections to other nodes; empty leaves the choice to the kernel.
	Source string `json:"source"`
	// Address is the address that clients use at first; Spare are those that it can move to.
	Address string   `json:"address"`
	Spare   []string `json:"spare"`
	// Interface and PrefixBits tell, in a network namespace, where the address is configured.
	Interface  string `json:"interface,omitempty"`
	PrefixBits int    `json:"prefixBits,omitempty"`
	// LinkSocket is the control socket of the userland link process, empty without one.
	LinkSocket string `json:"linkSocket,omitempty"`
	// RunDir holds the sockets.
	RunDir string `json:"runDir"`
	Timing Timing `json:"timing"`

	dir string
}

const settingsFile = "node.json"

// Save writes node.json into dir.
func (s Settings) Save(dir string) error {
	return writeJSON(filepath.Join(dir, settingsFile), s)
}

// LoadSettings reads node.json from dir.
func LoadSettings(dir string) (Settings, error) {
	var s Settings
	if err := readJSON(filepath.Join(dir, settingsFile), &s); err != nil {
		return Settings{}, fmt.Errorf("reading the node's settings: %w", err)
	}

	s.dir = dir

	return s, nil
}

func (s Settings) path(name string) string { return filepath.Join(s.dir, name) }

// ControlSocket is where the node listens for orders that no real node takes.
func (s Settings) ControlSocket() string { return filepath.Join(s.RunDir, s.Name+".ctl") }

func (s Settings) machinedSocket() string { return filepath.Join(s.RunDir, s.Name+".machined") }

func (s Settings) stateDir() string { return s.path("state") }

// StateDir is the node's STATE partition: removing it wipes the node.
func StateDir(dir string) string { return filepath.Join(dir, "state") }

// bootEntries is what a node keeps outside STATE: which version each boot entry starts.
type bootEntries struct {
	Current  string `json:"current"`
	Previous string `json:"previous,omitempty"`
	// Next is an installed version that the next boot starts.
	Next string `json:"next,omitempty"`
}

const metaFile = "meta.json"

func (s Settings) loadMeta() (bootEntries, error) {
	m := bootEntries{}

	err := readJSON(s.path(metaFile), &m)
	if os.IsNotExist(err) {
		return bootEntries{Current: s.Version}, nil
	}

	return m, err
}

func (s Settings) saveMeta(m bootEntries) error { return writeJSON(s.path(metaFile), m) }

// bootOrder passes from one boot to the next what must not be lost with the memory.
type bootOrder struct {
	Gap time.Duration `json:"gap"`
}

const (
	bootOrderFile = "boot.json"
	addressFile   = "address.json"
)

// CurrentAddress reads the address on which the node of dir is reached now.
func CurrentAddress(dir string) (string, error) {
	var addr string

	err := readJSON(filepath.Join(dir, addressFile), &addr)
	if os.IsNotExist(err) {
		s, err := LoadSettings(dir)

		return s.Address, err
	}

	return addr, err
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}

	return json.Unmarshal(b, v)
}

// writeJSON replaces path as a whole, so that a reader never sees half of it.
func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}

	return replaceFile(path, append(b, '\n'))
}

func replaceFile(path string, b []byte) error {
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}

	return os.Rename(tmp, path)
}
