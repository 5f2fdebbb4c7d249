package talos

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/clewops/clew/internal/dispatch"
)

func hostIDs() (dispatch.Host, error) {
	var h dispatch.Host
	boot, err := os.ReadFile(bootIDPath)
	if err != nil {
		return h, err
	}
	h.BootID = strings.TrimSpace(string(boot))
	if h.BootID == "" {
		return h, errors.New("the boot id is empty")
	}
	// "net:[inode]" of the namespace whose socket tables localSockets reads.
	if h.NetNS, err = os.Readlink("/proc/thread-self/ns/net"); err != nil {
		return h, err
	}
	// Small containers have no machine id; the boot id, random at every boot, tells hosts apart all the same.
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		id, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return h, err
		}
		if h.ID = strings.TrimSpace(string(id)); h.ID != "" {
			break
		}
	}
	return h, nil
}
