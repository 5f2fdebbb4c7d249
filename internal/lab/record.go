package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const recordFile = "lab.json"

// record is what lab.json holds: enough to find, and to remove, everything that Up makes. It is written before
// anything is made and never changes; processes record themselves (process.go).
type record struct {
	ID      string       `json:"id"`
	Created time.Time    `json:"created"`
	Links   LinkMode     `json:"links"`
	Version string       `json:"version"`
	Timing  Timing       `json:"timing"`
	Rate    string       `json:"rate,omitempty"`
	Exe     string       `json:"exe"`
	RunDir  string       `json:"runDir"`
	Network string       `json:"network"` // the addresses' network, such as 127.80.7.0/24
	Nodes   []nodeRecord `json:"nodes"`
	// Switch is the namespace that holds the bridge, HostLink the host's own end of it; netns mode only.
	Switch   string `json:"switch,omitempty"`
	HostLink string `json:"hostLink,omitempty"`
}

type nodeRecord struct {
	Name    string   `json:"name"`
	Worker  bool     `json:"worker"`
	Public  string   `json:"public"`            // where clients reach it at first
	Backing string   `json:"backing,omitempty"` // where it binds behind a userland link
	Spare   []string `json:"spare"`
	Netns   string   `json:"netns,omitempty"`
}

func readRecord(dir string) (record, error) {
	var r record

	b, err := os.ReadFile(filepath.Join(dir, recordFile))
	if errors.Is(err, os.ErrNotExist) {
		return r, fmt.Errorf("%w: %s", ErrNoLab, dir)
	}

	if err != nil {
		return r, err
	}

	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("reading %s: %w", filepath.Join(dir, recordFile), err)
	}

	return r, nil
}

// writeFile replaces a file of the lab as a whole; everything there is private.
func writeFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}

	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}

	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}

	return nil
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}

	return writeFile(path, append(b, '\n'))
}

func (l *Lab) nodeDir(name string) string { return filepath.Join(l.dir, "nodes", name) }

func (l *Lab) linkSocket() string { return filepath.Join(l.rec.RunDir, "link.ctl") }

func (l *Lab) linkDir() string { return filepath.Join(l.dir, "link") }

func (l *Lab) keeperDir() string { return filepath.Join(l.dir, "keeper") }
