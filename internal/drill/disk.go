package drill

import (
	"errors"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/clewops/clew/internal/lab"
)

// diskDir is where a row's own file system lies below its directory, and diskSize how large it is: the store's log takes
// four MiB before it is written back.
const (
	diskDir  = "disk"
	diskSize = 12 << 20
)

// storeDir is where the row's SQLite store lies.
func (s *Stage) storeDir() string {
	if !s.Row.Disk {
		return s.dir
	}
	s.must(os.MkdirAll(s.path(diskDir), 0o700), "making a place for a file system")
	s.must(mountDisk(s.path(diskDir), diskSize), "mounting a file system")
	s.disk = true
	return s.path(diskDir)
}

// unmountDisk takes the row's file system away again.
func (s *Stage) unmountDisk() {
	if s.disk {
		s.must(unmountDisk(s.path(diskDir)), "unmounting the row's file system")
	}
}

// mountable says whether the group's rows get the file systems that they need.
func (g group) mountable() error {
	if slices.ContainsFunc(g.rows, func(r Row) bool { return r.Disk }) && os.Getuid() != 0 {
		return &lab.NotOfferedError{Reason: "a file system of a row's own needs root"}
	}
	return nil
}

// FillDisk takes all the room that the row's file system has left. The function that it returns gives it back.
func (s *Stage) FillDisk() (free func()) {
	done := s.inject("disk", "fill", "")
	path := s.path(diskDir, "filler")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	s.must(err, "filling the disk")
	n, err := io.Copy(f, zeros{})
	if !noSpace(err) {
		s.Fail("the disk does not fill: %w", errors.Join(err, f.Close()))
	}
	s.must(f.Close(), "filling the disk")
	done(strconv.FormatInt(n, 10) + " bytes")
	return func() {
		done := s.inject("disk", "free", "")
		s.must(os.Remove(path), "making room on the disk")
		done("")
	}
}

// ReadOnlyDisk makes the row's file system read-only; nobody may have a file on it open for writing. The function that it
// returns undoes that.
func (s *Stage) ReadOnlyDisk() (undo func()) {
	done := s.inject("disk", "read-only", "")
	s.must(remountDisk(s.path(diskDir), diskSize, true), "making the disk read-only")
	done("")
	return func() {
		done := s.inject("disk", "writable", "")
		s.must(remountDisk(s.path(diskDir), diskSize, false), "making the disk writable")
		done("")
	}
}

// zeros is a stream without an end.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
