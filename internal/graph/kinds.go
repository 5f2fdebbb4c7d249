package graph

import "strings"

// Kind says what a node is. Kinds are a closed list: a name of an unknown kind is an error.
type Kind string

// Kinds of nodes.
const (
	Machine    Kind = "node" // a Talos machine and its Kubernetes node are one
	Endpoint   Kind = "endpoint"
	Etcd       Kind = "etcd"
	APIServer  Kind = "apiserver"
	Flux       Kind = "flux"
	GitRepo    Kind = "gitrepo"
	OCIRepo    Kind = "ocirepo"
	Bucket     Kind = "bucket"
	HelmRepo   Kind = "helmrepo"
	Kustomize  Kind = "ks"
	Helm       Kind = "hr"
	Namespace  Kind = "ns"
	Deployment Kind = "deploy"
	StateSet   Kind = "sts"
	DaemonSet  Kind = "ds"
	Job        Kind = "job"
	CronJob    Kind = "cronjob"
	Pod        Kind = "pod"
	Service    Kind = "svc"
	Ingress    Kind = "ing"
	ConfigMap  Kind = "cm"
	Secret     Kind = "secret"
	Claim      Kind = "pvc"
	Database   Kind = "db"
	Object     Kind = "object" // anything else that lives in the API: object/CLUSTER/NAMESPACE/NAME
	External   Kind = "ext"    // a third party outside the cluster
)

// extent says what follows the cluster in a name.
type extent int

const (
	whole      extent = iota // nothing: there is one in a cluster
	named                    // a name
	namespaced               // a namespace and a name
)

// kindInfo describes one kind.
type kindInfo struct {
	kind    Kind
	extent  extent
	label   string   // in a path; empty: the node's own name
	aliases []string // what people and tools type
	outside bool     // not reached through the cluster's API server
}

// kinds is the shipped list.
var kinds = []kindInfo{
	{kind: Machine, extent: named, outside: true, aliases: []string{"no", "nodes", "talos", "machine", "machines"}},
	{kind: Endpoint, extent: named, outside: true, aliases: []string{"ep-cp", "endpoints", "vip"}},
	{kind: Etcd, extent: whole, label: "etcd", outside: true},
	{kind: APIServer, extent: whole, label: "API", outside: true, aliases: []string{"api", "kube-apiserver", "kubernetes"}},
	{kind: Flux, extent: whole, label: "flux"},
	{kind: GitRepo, extent: namespaced, aliases: []string{"gitrepository", "gitrepositories"}},
	{kind: OCIRepo, extent: namespaced, aliases: []string{"ocirepository", "ocirepositories"}},
	{kind: Bucket, extent: namespaced, aliases: []string{"buckets"}},
	{kind: HelmRepo, extent: namespaced, aliases: []string{"helmrepository", "helmrepositories"}},
	{kind: Kustomize, extent: namespaced, aliases: []string{"kustomization", "kustomizations"}},
	{kind: Helm, extent: namespaced, aliases: []string{"helmrelease", "helmreleases", "release"}},
	{kind: Namespace, extent: named, aliases: []string{"namespace", "namespaces"}},
	{kind: Deployment, extent: namespaced, aliases: []string{"deployment", "deployments"}},
	{kind: StateSet, extent: namespaced, aliases: []string{"statefulset", "statefulsets"}},
	{kind: DaemonSet, extent: namespaced, aliases: []string{"daemonset", "daemonsets"}},
	{kind: Job, extent: namespaced, aliases: []string{"jobs"}},
	{kind: CronJob, extent: namespaced, aliases: []string{"cj", "cronjobs"}},
	{kind: Pod, extent: namespaced, aliases: []string{"po", "pods"}},
	{kind: Service, extent: namespaced, aliases: []string{"service", "services"}},
	{kind: Ingress, extent: namespaced, aliases: []string{"ingress", "ingresses"}},
	{kind: ConfigMap, extent: namespaced, aliases: []string{"configmap", "configmaps"}},
	{kind: Secret, extent: namespaced, aliases: []string{"secrets"}},
	{kind: Claim, extent: namespaced, aliases: []string{"persistentvolumeclaim", "persistentvolumeclaims"}},
	{kind: Database, extent: namespaced, aliases: []string{"database", "databases", "patroni", "postgres", "cluster.postgresql.cnpg.io"}},
	{kind: Object, extent: namespaced, aliases: []string{"objects"}},
	{kind: External, extent: named, outside: true, aliases: []string{"external"}},
}

// byAlias maps every word for a kind to its description.
var byAlias = func() map[string]*kindInfo {
	m := map[string]*kindInfo{}
	for i := range kinds {
		k := &kinds[i]
		m[string(k.kind)] = k
		for _, a := range k.aliases {
			m[a] = k
		}
	}
	return m
}()

// Kinds lists the kinds' canonical names.
func Kinds() []Kind {
	list := make([]Kind, len(kinds))
	for i, k := range kinds {
		list[i] = k.kind
	}
	return list
}

// KindOf understands a word for a kind as people and tools type it: short, singular, plural, with an API group.
func KindOf(word string) (Kind, bool) {
	k, ok := lookKind(word)
	if !ok {
		return "", false
	}
	return k.kind, true
}

func lookKind(word string) (*kindInfo, bool) {
	word = strings.ToLower(word)
	if k, ok := byAlias[word]; ok {
		return k, true
	}
	bare, _, grouped := strings.Cut(word, ".")
	k, ok := byAlias[bare]
	return k, ok && grouped
}

// Namespaced says whether nodes of the kind lie in a namespace.
func (k Kind) Namespaced() bool {
	i, ok := byAlias[string(k)]
	return ok && i.extent == namespaced
}

// Singleton says whether there is one such node in a cluster.
func (k Kind) Singleton() bool {
	i, ok := byAlias[string(k)]
	return ok && i.extent == whole
}
