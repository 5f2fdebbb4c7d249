package owner

import "strings"

// Sort is what kind of writer a manager is.
type Sort int

// Sorts of writers.
const (
	Other      Sort = iota // a name that nothing is known about
	Hand                   // a command that a person, an agent or a script typed
	Flux                   // a Flux controller, applying what Git says
	Helm                   // Helm or Flux' helm-controller
	Autoscaler             // writes sizes on purpose
	Operator               // a controller of Kubernetes or of an add-on
)

// Tool is what is known of a writer.
type Tool struct {
	Name string // as people call it: "kubectl edit", "kustomize-controller"
	Sort Sort
}

// KustomizeController is the manager under which Flux applies Kustomizations.
const KustomizeController = "kustomize-controller"

// hands are commands by the manager that they write under.
var hands = map[string]string{
	"kubectl-create":            "kubectl create",
	"kubectl-client-side-apply": "kubectl apply",
	"kubectl-edit":              "kubectl edit",
	"kubectl-patch":             "kubectl patch",
	"kubectl-replace":           "kubectl replace",
	"kubectl-label":             "kubectl label",
	"kubectl-annotate":          "kubectl annotate",
	"kubectl-autoscale":         "kubectl autoscale",
	"kubectl-set":               "kubectl set",
	"kubectl-rollout":           "kubectl rollout",
	"kubectl-taint":             "kubectl taint",
	"kubectl-run":               "kubectl run",
	"kubectl-expose":            "kubectl expose",
	"flux":                      "flux",
	"k9s":                       "k9s",
	"Mozilla":                   "a browser",
	"curl":                      "curl",
	"OpenAPI-Generator":         "a Kubernetes client",
	"before-first-apply":        "whoever wrote it before ownership was tracked",
}

// controllers are writers that belong to a cluster, by manager.
var controllers = map[string]Sort{
	KustomizeController:           Flux,
	"gotk-kustomize-controller":   Flux,
	"source-controller":           Flux,
	"gotk-source-controller":      Flux,
	"notification-controller":     Flux,
	"image-reflector-controller":  Flux,
	"image-automation-controller": Flux,
	"helm-controller":             Helm,
	"gotk-helm-controller":        Helm,
	"helm":                        Helm,
	"kube-controller-manager":     Operator,
	"kube-scheduler":              Operator,
	"kube-apiserver":              Operator,
	"cloud-controller-manager":    Operator,
	"kubelet":                     Operator,
	"horizontal-pod-autoscaler":   Autoscaler,
	"vpa-updater":                 Autoscaler,
	"vpa-recommender":             Autoscaler,
	"vpa-admission-controller":    Autoscaler,
	"cluster-autoscaler":          Autoscaler,
	"karpenter":                   Autoscaler,
	"keda":                        Autoscaler,
	"keda-operator":               Autoscaler,
	"cainjector":                  Operator,
	"cert-manager-cainjector":     Operator,
	"pilot-discovery":             Operator,
	"istiod":                      Operator,
	"coredns":                     Operator,
	"rancher":                     Operator,
	"external-secrets":            Operator,
	"external-dns":                Operator,
	"velero":                      Operator,
	"kyverno":                     Operator,
	"gatekeeper":                  Operator,
	"metrics-server":              Operator,
	"sealed-secrets":              Operator,
	"traefik":                     Operator,
}

// operatorEndings are how the names of controllers end that nobody listed.
var operatorEndings = []string{"-controller", "-operator", "-controller-manager", "-provisioner", "-webhook", "-injector"}

// Tool says what is known of the writer. The write through the scale subresource tells apart what the name does not:
// controllers that scale do so for an autoscaler.
func (o Owner) Tool() Tool {
	switch {
	case o.Manager == "kubectl" && o.Subresource == "scale":
		return Tool{"kubectl scale", Hand}
	case o.Manager == "kubectl" && o.Operation == Apply:
		return Tool{"kubectl apply --server-side", Hand}
	case o.Manager == "kubectl":
		return Tool{"kubectl", Hand}
	}
	if name, ok := hands[o.Manager]; ok {
		return Tool{name, Hand}
	}
	if strings.HasPrefix(o.Manager, "kubectl") {
		return Tool{o.Manager, Hand}
	}
	if sort, ok := controllers[o.Manager]; ok {
		if sort == Operator && o.Subresource == "scale" {
			return Tool{"an autoscaler (" + o.Manager + ")", Autoscaler}
		}
		return Tool{o.Manager, sort}
	}
	for _, ending := range operatorEndings {
		if strings.HasSuffix(o.Manager, ending) {
			return Tool{o.Manager, Operator}
		}
	}
	return Tool{o.Manager, Other}
}

// WritesWhole says whether the writer wrote a whole object without stating every field: it owns what the server filled
// in when it created the object.
func (o Owner) WritesWhole() bool {
	switch o.Manager {
	case "kubectl-client-side-apply", "kubectl-create", "before-first-apply", "helm":
		return o.Operation == Update
	}
	return false
}
