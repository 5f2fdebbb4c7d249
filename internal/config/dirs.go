package config

import (
	"errors"
	"path/filepath"
)

// Dirs are a user's directories, by the XDG base directory specification. None of them need exist.
type Dirs struct {
	Home   string // the home directory; empty when it was not needed and not set
	Config string // $XDG_CONFIG_HOME/clew: what the user writes
	State  string // $XDG_STATE_HOME/clew: the default store, its key, journals
	Cache  string // $XDG_CACHE_HOME/clew: what can be lost
}

// ErrNoHome says that the environment names no home directory.
var ErrNoHome = errors.New("HOME is not set (to an absolute path), so there is no place for files: " +
	"set HOME, or XDG_CONFIG_HOME, XDG_STATE_HOME and XDG_CACHE_HOME")

// FindDirs reads the directories from the environment. The specification says that a relative path is to be ignored.
//
// The user database is not asked: a process without HOME should not start writing into a home that nobody named.
func FindDirs(env Env) (Dirs, error) {
	d := Dirs{Home: env("HOME")}
	if !filepath.IsAbs(d.Home) {
		d.Home = ""
	}
	for _, dir := range []struct {
		to            *string
		variable, rel string
	}{
		{&d.Config, "XDG_CONFIG_HOME", ".config"},
		{&d.State, "XDG_STATE_HOME", ".local/state"},
		{&d.Cache, "XDG_CACHE_HOME", ".cache"},
	} {
		base := env(dir.variable)
		if !filepath.IsAbs(base) {
			if d.Home == "" {
				return Dirs{}, ErrNoHome
			}
			base = filepath.Join(d.Home, dir.rel)
		}
		*dir.to = filepath.Join(base, "clew")
	}
	return d, nil
}
