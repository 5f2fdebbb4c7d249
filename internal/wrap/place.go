package wrap

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/clewops/clew/internal/act"
	"github.com/clewops/clew/internal/wrap/clusterfile"
)

// How much configuration is read before a command, and at all. What is more than the former is read while it runs.
const (
	smallConfig   = 64 << 10
	largestConfig = 4 << 20
)

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"

// errTooMuch says that the configuration is larger than what may be read now.
var errTooMuch = errors.New("more than is read now")

// kubernetesTools take their cluster from a kubeconfig.
var kubernetesTools = []string{"kubectl", "helm", "flux"}

// resolve says where the command works, as its tool resolves it. ok is false if that takes more reading than allowed. A
// configuration that the tool itself will not understand leads nowhere.
func (r *run) resolve(most int64) (at act.Place, ok bool) {
	read := &reader{left: most}
	var err error
	switch x := r.recognised; {
	case x.NodesAre != "":
		at, err = r.talos(read)
	case slices.Contains(kubernetesTools, x.Tool) || x.Selector(act.SelectKubeconfig) != nil:
		at, err = r.kube(read)
	}
	if errors.Is(err, errTooMuch) {
		return act.Place{}, false
	}
	if err != nil {
		return act.Place{}, true
	}
	return at, true
}

func (r *run) kube(read *reader) (act.Place, error) {
	files, alone := act.KubeconfigFiles(r.option(act.SelectKubeconfig), r.getenv("KUBECONFIG"), r.dirs.Home, string(os.PathListSeparator))
	var list []act.Kubeconfig
	for _, file := range files {
		b, err := read.file(file)
		if errors.Is(err, fs.ErrNotExist) && !alone {
			continue
		}
		if err != nil {
			return act.Place{}, err
		}
		k, err := clusterfile.ParseKubeconfig(file, b, read.file)
		if err != nil {
			return act.Place{}, err
		}
		list = append(list, k)
	}
	if read.over {
		return act.Place{}, errTooMuch
	}
	var pod act.InCluster
	if r.getenv("KUBERNETES_SERVICE_HOST") != "" {
		_, err := os.Stat(serviceAccount + "token")
		ca, _ := read.file(serviceAccount + "ca.crt")
		namespace, _ := read.file(serviceAccount + "namespace")
		pod = clusterfile.InCluster(r.getenv, err == nil, ca, namespace)
	}
	return act.ResolveKube(act.MergeKubeconfigs(list), act.KubeOverridesOf(r.recognised), pod)
}

func (r *run) talos(read *reader) (act.Place, error) {
	var t act.Talosconfig
	for _, file := range act.TalosconfigFiles(r.option(act.SelectTalosconfig), r.getenv("TALOSCONFIG"), r.getenv("TALOS_HOME"), r.dirs.Home) {
		b, err := read.file(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return act.Place{}, err
		}
		if t, err = clusterfile.ParseTalosconfig(file, b); err != nil {
			return act.Place{}, err
		}
		break
	}
	return act.ResolveTalos(t, act.TalosOverridesOf(r.recognised))
}

// option is what the command line itself chose for a selector.
func (r *run) option(name act.SelectorName) string {
	for _, s := range r.recognised.Selectors {
		if s.Name == name && !s.Environment && len(s.Values) > 0 {
			return s.Values[len(s.Values)-1]
		}
	}
	return ""
}

// reader reads regular files up to a sum.
type reader struct {
	left int64
	over bool
}

func (r *reader) file(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path) // a pipe is read once, and that is the tool's to do
	}
	if info.Size() > r.left {
		r.over = true
		return nil, errTooMuch
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, r.left))
	r.left -= int64(len(b))
	return b, err
}
