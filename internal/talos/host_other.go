//go:build !linux && !darwin

package talos

import (
	"errors"

	"github.com/clewops/clew/internal/dispatch"
)

func hostIDs() (dispatch.Host, error) {
	return dispatch.Host{}, errors.New("not offered on this system")
}
