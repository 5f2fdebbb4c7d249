package recogniserfile

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/clewops/clew/internal/act"
)

// Find gives the recogniser of a program: the shipped one, extended by the user's file of the program's name in dir, or
// that file alone. Only this one file is looked at, so that other tools' files cost nothing. nil means that nothing knows
// the program. With an error the recogniser is still the shipped one, if there is one: a mistake in a user's file must
// not take a command's record away.
func Find(dir, argv0 string) (*act.Recogniser, error) {
	shipped := act.ShippedFor(argv0)
	name := act.ProgramName(argv0)
	if dir == "" || name == "" || name == "." || name == ".." {
		return shipped, nil
	}
	own, err := Read(filepath.Join(dir, name+".yaml"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return shipped, nil
	case err != nil:
		return shipped, err
	case shipped == nil:
		return &own, nil
	}
	both, err := act.Extend(*shipped, own)
	if err != nil {
		return shipped, err
	}
	return &both, nil
}
