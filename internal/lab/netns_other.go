//go:build !linux

package lab

import (
	"context"
	"net/netip"

	"github.com/clewops/clew/internal/lab/link"
)

const nodeInterface = "eth0"

func netnsOffered() error {
	return &NotOfferedError{Reason: "network namespaces are offered on Linux only"}
}

func networksInUse() []netip.Prefix { return nil }

func (l *Lab) makeNetns(context.Context) error { return netnsOffered() }

func (l *Lab) removeNetns(context.Context) error { return netnsOffered() }

func (l *Lab) faultNetns(context.Context, string, link.Fault) error { return netnsOffered() }

func (l *Lab) portForwards(context.Context, string) (bool, error) { return false, netnsOffered() }
