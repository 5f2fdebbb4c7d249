package act

// Class says what a command does to what it names.
type Class string

// Classes. A command that is not understood is unknown, never read.
const (
	Read    Class = "read"
	Mutate  Class = "mutate"
	Unknown Class = "unknown"
)

// Target is something that a command names.
type Target struct {
	Kind      string `json:"kind"`                // canonical: deployment, node, kustomization, machine (a Talos address)
	Name      string `json:"name,omitempty"`      // empty: the kind as a whole, or a selection that is not resolved here
	Namespace string `json:"namespace,omitempty"` // as given on the command line; empty: see Place.Namespace
}

// String is the kubectl-like name.
func (t Target) String() string {
	s := t.Kind
	if t.Name != "" {
		s += "/" + t.Name
	}
	if t.Namespace != "" {
		s += " -n " + t.Namespace
	}
	return s
}

// ClusterID is what a cluster is known by; a context's name is not, since names differ between machines. Empty fields
// are not known (yet), which is not the same as different.
type ClusterID struct {
	UID string `json:"uid,omitempty"` // of the namespace kube-system
	CA  string `json:"ca,omitempty"`  // hex SHA-256 of the API's certificate authority, DER
}
