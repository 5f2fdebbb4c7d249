package act

import (
	"fmt"
	"slices"
	"strings"
)

// Kubeconfig is what matters of one kubeconfig file. Users' credentials are not part of it.
type Kubeconfig struct {
	CurrentContext string
	Contexts       []KubeContext
	Clusters       []KubeCluster
}

// KubeContext is a named context.
type KubeContext struct {
	Name      string
	Cluster   string
	User      string
	Namespace string
}

// KubeCluster is a named cluster. A file of a certificate authority has been read and digested by the adapter.
type KubeCluster struct {
	Name   string
	Server string // scheme, host and port; the adapter drops the rest
	CA     string // hex SHA-256 of the authority's certificate, DER; empty: the system's authorities, or not readable
}

// MergeKubeconfigs merges the files of KUBECONFIG in their order: the first file that has a context or a cluster of a
// name has the whole of it, and the first current context that is not empty counts.
func MergeKubeconfigs(files []Kubeconfig) Kubeconfig {
	var out Kubeconfig
	for _, f := range files {
		if out.CurrentContext == "" {
			out.CurrentContext = f.CurrentContext
		}
		for _, c := range f.Contexts {
			if !slices.ContainsFunc(out.Contexts, func(have KubeContext) bool { return have.Name == c.Name }) {
				out.Contexts = append(out.Contexts, c)
			}
		}
		for _, c := range f.Clusters {
			if !slices.ContainsFunc(out.Clusters, func(have KubeCluster) bool { return have.Name == c.Name }) {
				out.Clusters = append(out.Clusters, c)
			}
		}
	}
	return out
}

// KubeconfigFiles lists the files that a tool would read, in the order in which they are merged. alone says that the
// one file was named by an option: then it must exist. home is the user's home directory.
func KubeconfigFiles(option, variable, home, listSeparator string) (files []string, alone bool) {
	if option != "" {
		return []string{option}, true
	}
	for part := range strings.SplitSeq(variable, listSeparator) {
		if part != "" && !slices.Contains(files, part) {
			files = append(files, part)
		}
	}
	if variable == "" && home != "" {
		files = []string{home + "/.kube/config"}
	}
	return files, false
}

// KubeOverrides are the options that override what a kubeconfig says.
type KubeOverrides struct {
	Context       string
	Cluster       string
	Server        string
	Namespace     string
	AllNamespaces bool
}

// InCluster is what a pod knows of its own cluster. Server is empty outside one.
type InCluster struct {
	Server    string
	CA        string
	Namespace string // of POD_NAMESPACE or the service account
}

const (
	// defaultNamespace is where a command works when nothing names a namespace.
	defaultNamespace = "default"
	// fallbackServer is what the client library turns to without any configuration.
	fallbackServer = "http://localhost:8080"
)

// ResolveKube says where a command works, as client-go decides it: options over the chosen context over the pod's own
// cluster. A context or a cluster that is named and is not there is an error, as it is for the tool.
func ResolveKube(k Kubeconfig, o KubeOverrides, pod InCluster) (Place, error) {
	name := k.CurrentContext
	if o.Context != "" {
		name = o.Context
	}
	var context KubeContext
	if name != "" {
		i := slices.IndexFunc(k.Contexts, func(c KubeContext) bool { return c.Name == name })
		if i < 0 {
			return Place{}, fmt.Errorf("no context %q is in the kubeconfig; `kubectl config get-contexts` lists them", name)
		}
		context = k.Contexts[i]
	}
	at := Place{Context: context.Name, Namespace: context.Namespace, AllNamespaces: o.AllNamespaces}
	cluster, err := k.cluster(context.Cluster, o)
	if err != nil {
		return Place{}, err
	}
	at.Server, at.Cluster.CA = cluster.Server, cluster.CA
	if at.Server == "" && pod.Server != "" {
		at.Server, at.Cluster.CA, at.InCluster = pod.Server, pod.CA, true
		if at.Namespace == "" {
			at.Namespace = pod.Namespace
		}
	}
	if at.Server == "" {
		at.Server = fallbackServer
	}
	if server, ok := plainHost(at.Server); ok {
		at.Server = server
	} else {
		at.Server = "" // it carries user information, or is no address
	}
	if isName(o.Namespace) {
		at.Namespace = o.Namespace // what is no name leads nowhere, and a place is recorded
	}
	if at.Namespace == "" {
		at.Namespace = defaultNamespace
	}
	return at, nil
}

// cluster is the cluster of a context, with what the options override. Another server is still asked for a certificate
// of the same authority.
func (k Kubeconfig) cluster(name string, o KubeOverrides) (KubeCluster, error) {
	if o.Cluster != "" {
		name = o.Cluster
	}
	var c KubeCluster
	i := slices.IndexFunc(k.Clusters, func(c KubeCluster) bool { return c.Name == name })
	if i >= 0 {
		c = k.Clusters[i]
	} else if o.Cluster != "" && o.Server == "" {
		return c, fmt.Errorf("no cluster %q is in the kubeconfig; `kubectl config get-clusters` lists them", name)
	}
	if o.Server != "" {
		c.Server = o.Server
	}
	return c, nil
}

// KubeOverridesOf takes the overrides from what a command line selected.
func KubeOverridesOf(r Recognised) KubeOverrides {
	one := func(name SelectorName) string {
		if v := r.Selector(name); len(v) > 0 {
			return v[len(v)-1]
		}
		return ""
	}
	return KubeOverrides{
		Context: one(SelectContext), Cluster: one(SelectCluster), Server: one(SelectServer),
		Namespace: one(SelectNamespace), AllNamespaces: one(SelectAllNamespaces) == "true",
	}
}
