package cli

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/clewops/clew/internal/config"
)

// seenFile keeps the id that the user last saw, which "-" stands for. It is a convenience: that it cannot be written is
// no reason to fail.
const seenFile = "seen"

// saw remembers an id as the last one shown.
func (a *app) saw(id string) {
	if id == "" {
		return
	}
	c, err := a.settings()
	if err != nil {
		return
	}
	_ = config.WriteFile(filepath.Join(c.Dirs.State, seenFile), []byte(id+"\n"))
}

// lastSeen is the id that "-" stands for.
func (a *app) lastSeen() (string, error) {
	c, err := a.settings()
	if err != nil {
		return "", err
	}
	b, err := readRegular(filepath.Join(c.Dirs.State, seenFile), 1024)
	if errors.Is(err, fs.ErrNotExist) {
		return "", usagef("- stands for the last id that was shown, and none was yet")
	}
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(b))
	if err := checkWord("the last id seen", id, false); err != nil || id == "" {
		return "", usagef("- stands for the last id that was shown, and none was yet")
	}
	return id, nil
}
