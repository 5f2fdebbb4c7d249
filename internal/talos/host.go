package talos

import (
	"fmt"
	"os"

	"github.com/clewops/clew/internal/dispatch"
)

// LocalHost is where this process runs. Evidence on sockets is bound to it: host, boot and network namespace. A value
// that the system does not have is empty; its boot id always is there, or LocalHost fails.
func LocalHost() (dispatch.Host, error) {
	name, err := os.Hostname()
	if err != nil {
		return dispatch.Host{}, fmt.Errorf("reading this host's name: %w", err)
	}
	h, err := hostIDs()
	if err != nil {
		return dispatch.Host{}, fmt.Errorf("reading this host's identity: %w", err)
	}
	h.Name = name
	return h, nil
}
