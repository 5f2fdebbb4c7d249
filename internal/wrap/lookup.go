package wrap

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/clewops/clew/internal/act"
)

// errOnlyShims says that there is a shim and nothing behind it.
var errOnlyShims = errors.New("command not found")

// lookUp finds a program as a shell does, but for shims, and passes over the first candidates when asked to.
func lookUp(name, path string, isShim func(string, fs.FileInfo) bool, passOver int) (string, error) {
	if strings.Contains(name, "/") {
		info, err := os.Stat(name)
		if err == nil && !isShim(name, info) {
			return name, nil
		}
		name = filepath.Base(name)
	}
	var denied error
	for dir := range strings.SplitSeq(path, ":") {
		if dir == "" {
			dir = "." // as POSIX has it
		}
		candidate := dir + "/" + name
		info, err := os.Stat(candidate)
		if err != nil || info.IsDir() {
			continue
		}
		if unix.Access(candidate, unix.X_OK) != nil {
			denied = fs.ErrPermission
			continue
		}
		if isShim(candidate, info) {
			continue
		}
		if passOver--; passOver < 0 {
			return candidate, nil
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", errOnlyShims
}

// shimTest makes the test for shims: a link to this program, another copy of it in the directory that this one was run
// from, or a script that runs it.
func shimTest(argv0 string) func(string, fs.FileInfo) bool {
	own, err := os.Executable()
	var ownInfo fs.FileInfo
	if err == nil {
		ownInfo, _ = os.Stat(own)
	}
	shimDir := ""
	if strings.Contains(argv0, "/") && !strings.HasPrefix(filepath.Base(argv0), self) {
		shimDir = filepath.Dir(argv0)
	}
	return func(candidate string, info fs.FileInfo) bool {
		if ownInfo != nil && os.SameFile(ownInfo, info) || shimDir != "" && filepath.Dir(candidate) == shimDir {
			return true
		}
		return runsWrapper(candidate)
	}
}

// runsWrapper says whether a file is a script that runs the wrapper as a shim.
func runsWrapper(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 512)
	if _, err := io.ReadFull(f, head[:2]); err != nil || string(head[:2]) != "#!" {
		return false
	}
	n, _ := io.ReadFull(f, head[2:])
	return bytes.Contains(head[:2+n], []byte(self+" shim ")) || bytes.Contains(head[:2+n], []byte(self+"\" shim "))
}

// above counts the wrappers above this process that run the same command, one by way of another.
func above(chain []act.Process, own string, command []string) int {
	n := 0
	for _, p := range chain {
		if p.Exe != own {
			continue
		}
		if theirs, ok := commandOf(p.Argv); ok && sameCommand(theirs, command) {
			n++
		}
	}
	return n
}

func sameCommand(a, b []string) bool {
	if len(a) != len(b) || filepath.Base(a[0]) != filepath.Base(b[0]) {
		return false
	}
	for i := range a[1:] {
		if a[i+1] != b[i+1] {
			return false
		}
	}
	return true
}
