package cli

import (
	"github.com/clewops/clew/internal/config"
)

// settings reads the configuration once per run.
func (a *app) settings() (config.Config, error) {
	if a.config != nil {
		return *a.config, nil
	}
	c, err := config.Load(a.getenv)
	if err != nil {
		return config.Config{}, err
	}
	a.config = &c
	return c, nil
}

// storeLocation resolves where the store is. A wrong --store is a usage error; a wrong CLEW_STORE or configuration
// file is a failure. A password that other processes can read is used, and the user is told once.
func (a *app) storeLocation() (config.Location, error) {
	c, err := a.settings()
	if err != nil {
		return config.Location{}, err
	}
	var flag *string
	if a.root.PersistentFlags().Changed("store") {
		flag = &a.flags.store
	}
	l, err := c.StoreLocation(flag)
	if err != nil && flag != nil {
		return config.Location{}, &usageError{err: err}
	}
	if err != nil {
		return config.Location{}, err
	}
	if l.InlinePassword && !a.toldPassword {
		a.toldPassword = true
		a.note("%s holds the database password itself, where other processes may read it; "+
			"a PGPASSFILE or %s keeps it in a file", l.Source, config.EnvPasswordFile)
	}
	return l, nil
}

// identity is the identity that the user asserts: --as, or the configuration's; "" leaves the choice to the store.
func (a *app) identity() (string, error) {
	if a.flags.as != "" {
		return a.flags.as, nil
	}
	c, err := a.settings()
	return c.Identity, err
}
