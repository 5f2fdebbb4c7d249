package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
)

// whoamiView is who the user is to the store.
type whoamiView struct {
	Identity  string             `json:"identity"`
	Source    string             `json:"source"`    // what named it
	Assurance ledger.Assurance   `json:"assurance"` // a local store only hears it asserted
	Known     bool               `json:"known"`
	Kind      store.IdentityKind `json:"kind,omitempty"`
	Roles     []string           `json:"roles"`
	Revoked   bool               `json:"revoked,omitempty"`
	Store     string             `json:"store"`
	KeyFile   string             `json:"key_file"`        // of the configurations' key
	Agent     string             `json:"agent,omitempty"` // whose environment this is
	First     bool               `json:"first,omitempty"` // nobody is known yet: the first act makes this identity
}

func newWhoamiCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "whoami",
		Short:   "Your identity, how it is known, and your roles",
		GroupID: groupSetup,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v, err := a.whoami(c)
			if err != nil {
				return err
			}
			return a.emit(v, func(w io.Writer) error { return whoamiText(w, v) })
		},
	}
}

func (a *app) whoami(c *cobra.Command) (whoamiView, error) {
	name, err := a.myName()
	if err != nil {
		return whoamiView{}, err
	}
	l, err := a.storeLocation()
	if err != nil {
		return whoamiView{}, err
	}
	v := whoamiView{Identity: name, Source: "the operating system", Assurance: ledger.Asserted, Roles: []string{}, Store: l.String()}
	s, err := a.settings()
	if err != nil {
		return v, err
	}
	if v.KeyFile, err = s.KeyFile(); err != nil {
		return v, err
	}
	switch {
	case a.flags.as != "":
		v.Source = "--as"
	case s.Identity != "":
		v.Source = s.File
	}
	v.Agent, _ = a.agent()
	st, ok, err := a.openExisting(c.Context())
	if err != nil {
		return v, err
	}
	if !ok {
		v.First = true
		return v, nil
	}
	all, err := st.Identities(c.Context())
	if err != nil {
		return v, err
	}
	v.First = len(all) == 0
	for _, i := range all {
		if i.Name == name {
			v.Known, v.Kind, v.Roles, v.Revoked = true, i.Kind, i.Roles, i.RevokedRevision != 0
		}
	}
	return v, nil
}

func whoamiText(w io.Writer, v whoamiView) error {
	t := newTable(w)
	t.row("identity", fmt.Sprintf("%s (%s, from %s)", v.Identity, v.Assurance, v.Source))
	switch {
	case v.First:
		t.row("roles", "every role, from the first act on: nobody is known here yet")
	case !v.Known:
		t.row("roles", "none: nobody is known by this name here (--as gives another name; a recovery-admin admits people)")
	case v.Revoked:
		t.row("roles", "none: this identity was revoked, for ever")
	default:
		t.row("roles", strings.Join(v.Roles, ", "))
	}
	t.row("store", v.Store)
	t.row("key file", v.KeyFile)
	if v.Agent != "" {
		t.row("inside", v.Agent+": decisions are refused here")
	}
	return t.flush()
}
