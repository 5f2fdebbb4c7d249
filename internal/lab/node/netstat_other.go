//go:build !linux

package node

import (
	"errors"
	"fmt"
)

func socketTable(string) ([]string, error) {
	return nil, fmt.Errorf("socket tables are read on Linux only: %w", errors.ErrUnsupported)
}

func ownInodes() map[uint64]bool { return nil }
