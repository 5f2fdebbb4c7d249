package act

import (
	"fmt"
	"slices"
)

// Talosconfig is what matters of one talosconfig. Keys are not part of it.
type Talosconfig struct {
	Context  string
	Contexts []TalosContext
}

// TalosContext is a named context of a talosconfig.
type TalosContext struct {
	Name      string
	Endpoints []string
	Nodes     []string
	CA        string // hex SHA-256 of the Talos API's authority, DER
	Cluster   string // a name that the file may give
}

// TalosconfigFiles lists the files that talosctl would try; the first that exists is read, alone: talosconfigs are not
// merged. talosHome is TALOS_HOME.
func TalosconfigFiles(option, variable, talosHome, home string) []string {
	if option != "" {
		return []string{option}
	}
	var files []string
	if variable != "" {
		files = append(files, variable)
	}
	switch {
	case talosHome != "":
		files = append(files, talosHome+"/config")
	case home != "":
		files = append(files, home+"/.talos/config")
	}
	return append(files, "/var/run/secrets/talos.dev/config")
}

// TalosOverrides are the options that override what a talosconfig says.
type TalosOverrides struct {
	Context   string
	Endpoints []string
	Nodes     []string
}

// ResolveTalos says where a talosctl command works: options over the chosen context. Without nodes it works on none, and
// talosctl itself refuses most commands then.
func ResolveTalos(t Talosconfig, o TalosOverrides) (Place, error) {
	name := t.Context
	if o.Context != "" {
		name = o.Context
	}
	at := Place{Endpoints: plainHosts(o.Endpoints), Nodes: plainHosts(o.Nodes)}
	i := slices.IndexFunc(t.Contexts, func(c TalosContext) bool { return c.Name == name })
	if i < 0 {
		if o.Context != "" {
			return Place{}, fmt.Errorf("no context %q is in the talosconfig; `talosctl config contexts` lists them", name)
		}
		return at, nil
	}
	context := t.Contexts[i]
	at.Context, at.TalosCA = context.Name, context.CA
	if len(at.Endpoints) == 0 {
		at.Endpoints = slices.Clone(context.Endpoints)
	}
	if len(at.Nodes) == 0 {
		at.Nodes = slices.Clone(context.Nodes)
	}
	return at, nil
}

// plainHosts keeps what is a host and nothing else: a place is recorded.
func plainHosts(list []string) []string {
	var out []string
	for _, h := range list {
		if plain, ok := plainHost(h); ok {
			out = append(out, plain)
		}
	}
	return out
}

// TalosOverridesOf takes the overrides from what a command line selected.
func TalosOverridesOf(r Recognised) TalosOverrides {
	o := TalosOverrides{Endpoints: r.Selector(SelectEndpoints), Nodes: r.Selector(SelectNodes)}
	if v := r.Selector(SelectContext); len(v) > 0 {
		o.Context = v[len(v)-1]
	}
	return o
}
