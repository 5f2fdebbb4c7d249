package wrap

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/clewops/clew/internal/config"
)

// JournalDir has the sessions' journals.
func JournalDir(d config.Dirs) string { return filepath.Join(d.State, "journal") }

// RecogniserDir has the user's own recognisers.
func RecogniserDir(d config.Dirs) string { return filepath.Join(d.Config, "recognisers") }

// TempDir has the journals of sessions that cannot write into the home directory.
func TempDir(env config.Env) string {
	return filepath.Join(temp(env), fmt.Sprintf("clew-%d", os.Getuid()), "journal")
}

func temp(env config.Env) string {
	if dir := env("TMPDIR"); filepath.IsAbs(dir) {
		return dir
	}
	return "/tmp"
}
