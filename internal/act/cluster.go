package act

import (
	"slices"
	"strings"
)

// Likeness says whether two things are one.
type Likeness string

// Likenesses. What is not known about either side is no difference.
const (
	SameCluster  Likeness = "same"
	OtherCluster Likeness = "other"
	MaybeSame    Likeness = "unknown"
)

// Compare says whether two identities are of one cluster. The UID of kube-system decides where both know it: an
// authority can be rotated, and two clusters can share one. Without it the authority says "same" and never "other".
func (c ClusterID) Compare(other ClusterID) Likeness {
	switch {
	case c.UID != "" && other.UID != "":
		if c.UID == other.UID {
			return SameCluster
		}
		return OtherCluster
	case c.CA != "" && c.CA == other.CA:
		return SameCluster
	default:
		return MaybeSame
	}
}

// KnownCluster is what is known of one cluster, from its API and from earlier commands.
type KnownCluster struct {
	ID      ClusterID
	Names   []string // of contexts on this machine that led here
	Servers []string // scheme, host and port of its API
	TalosCA string   // of its nodes' Talos API
	Members []string // addresses and names of its nodes
}

// Locate finds the cluster that a place belongs to. A kubeconfig leads there by its authority or its server; a
// talosconfig by the Talos authority, or else by members that its endpoints and nodes name. Several that fit equally
// well are none: candidates says which.
func Locate(at Place, known []KnownCluster) (found *KnownCluster, candidates []int) {
	for _, fits := range []func(Place, KnownCluster) bool{byUID, byTalosCA, byKubeCA, byServer, byMembers} {
		var list []int
		for i := range known {
			if !contradicts(at, known[i]) && fits(at, known[i]) {
				list = append(list, i)
			}
		}
		switch len(list) {
		case 0:
			continue
		case 1:
			return &known[list[0]], nil
		default:
			if narrowed := slices.DeleteFunc(slices.Clone(list), func(i int) bool {
				return !byServer(at, known[i]) && !byMembers(at, known[i])
			}); len(narrowed) == 1 {
				return &known[narrowed[0]], nil
			}
			return nil, list
		}
	}
	return nil, nil
}

// contradicts says that the place cannot be this cluster, whatever else fits.
func contradicts(at Place, k KnownCluster) bool {
	return at.Cluster.Compare(k.ID) == OtherCluster || at.TalosCA != "" && k.TalosCA != "" && at.TalosCA != k.TalosCA ||
		at.Cluster.UID == "" && at.Cluster.CA != "" && k.ID.CA != "" && at.Cluster.CA != k.ID.CA
}

func byUID(at Place, k KnownCluster) bool {
	return at.Cluster.UID != "" && at.Cluster.UID == k.ID.UID
}

func byTalosCA(at Place, k KnownCluster) bool { return at.TalosCA != "" && at.TalosCA == k.TalosCA }

func byKubeCA(at Place, k KnownCluster) bool {
	return at.Cluster.CA != "" && at.Cluster.CA == k.ID.CA
}

func byServer(at Place, k KnownCluster) bool {
	return at.Server != "" && slices.ContainsFunc(k.Servers, func(s string) bool { return sameServer(at.Server, s) })
}

// byMembers says that every endpoint and node that the place names is a member, and that it names one.
func byMembers(at Place, k KnownCluster) bool {
	n := 0
	for _, a := range slices.Concat(at.Endpoints, at.Nodes) {
		if !slices.ContainsFunc(k.Members, func(m string) bool { return sameHost(a, m) }) {
			return false
		}
		n++
	}
	return n > 0
}

// sameServer compares two API addresses: the host and the port.
func sameServer(a, b string) bool {
	hostA, portA := splitServer(a)
	hostB, portB := splitServer(b)
	return hostA != "" && portA == portB && sameHost(hostA, hostB)
}

// splitServer takes https://host:port apart; without a port it is the scheme's.
func splitServer(s string) (host, port string) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		scheme, rest = "https", s
	}
	host = bareHost(rest)
	if after, ok := strings.CutPrefix(strings.TrimPrefix(rest, "["), host); ok {
		port = strings.TrimLeft(after, "]:")
	}
	switch {
	case port != "":
	case scheme == "http":
		port = "80"
	default:
		port = "443"
	}
	return host, port
}

// sameHost compares two hosts without their ports, as text and without regard to case: adapters hand in addresses in
// their canonical form.
func sameHost(a, b string) bool {
	return strings.EqualFold(bareHost(a), bareHost(b))
}

// bareHost takes the port off a host, and the brackets off an IPv6 address. Text with several colons and no brackets
// is an IPv6 address without a port.
func bareHost(h string) string {
	if rest, ok := strings.CutPrefix(h, "["); ok {
		host, _, _ := strings.Cut(rest, "]")
		return host
	}
	if host, _, ok := strings.Cut(h, ":"); ok && strings.Count(h, ":") == 1 {
		return host
	}
	return h
}
