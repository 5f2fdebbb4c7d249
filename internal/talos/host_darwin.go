package talos

import (
	"golang.org/x/sys/unix"

	"github.com/clewops/clew/internal/dispatch"
)

func hostIDs() (dispatch.Host, error) {
	var h dispatch.Host
	var err error
	if h.BootID, err = unix.Sysctl("kern.bootsessionuuid"); err != nil {
		return h, err
	}
	h.ID, err = unix.Sysctl("kern.uuid")
	return h, err
}
