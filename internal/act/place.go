package act

import "slices"

// Place is where a command works, resolved as its tool resolves it.
type Place struct {
	Cluster       ClusterID `json:"cluster,omitzero"`
	Context       string    `json:"context,omitempty"` // for people; names differ between machines
	Server        string    `json:"server,omitempty"`  // scheme, host and port
	Namespace     string    `json:"namespace,omitempty"`
	AllNamespaces bool      `json:"all_namespaces,omitempty"`
	Nodes         []string  `json:"nodes,omitempty"`
	Endpoints     []string  `json:"endpoints,omitempty"`
	TalosCA       string    `json:"talos_ca,omitempty"` // hex SHA-256 of the Talos API's authority, DER
	InCluster     bool      `json:"in_cluster,omitempty"`
}

// Same says whether both are one place: the same cluster, namespace and nodes.
func (p Place) Same(other Place) bool {
	return p.Cluster == other.Cluster && p.Server == other.Server && p.TalosCA == other.TalosCA &&
		p.Namespace == other.Namespace && p.AllNamespaces == other.AllNamespaces && slices.Equal(p.Nodes, other.Nodes)
}
