//go:build !linux

package drill

import "github.com/clewops/clew/internal/lab"

var errNoDisk = &lab.NotOfferedError{Reason: "only Linux gives a row a file system of its own"}

func mountDisk(string, int64) error { return errNoDisk }

func remountDisk(string, int64, bool) error { return errNoDisk }

func unmountDisk(string) error { return errNoDisk }

func noSpace(error) bool { return false }
