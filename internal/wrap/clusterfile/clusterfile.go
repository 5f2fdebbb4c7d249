// Package clusterfile reads from kubeconfigs and talosconfigs which clusters they lead to, and nothing else of them: no
// token, key or certificate of a user is kept, printed or quoted in an error. How files are merged and which context
// counts is decided in package act.
package clusterfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/clewops/clew/internal/act"
)

// MaxSize is the largest file that is parsed: these files lie on the way of every command.
const MaxSize = 1 << 20

// ReadFile reads a file that a configuration names, like a certificate authority.
type ReadFile func(path string) ([]byte, error)

// kubeconfig is the part of a kubeconfig that is decoded.
type kubeconfig struct {
	CurrentContext string `yaml:"current-context"`
	Contexts       []struct {
		Name    string `yaml:"name"`
		Context struct {
			Cluster   string `yaml:"cluster"`
			User      string `yaml:"user"`
			Namespace string `yaml:"namespace"`
		} `yaml:"context"`
	} `yaml:"contexts"`
	Clusters []struct {
		Name    string `yaml:"name"`
		Cluster struct {
			Server string `yaml:"server"`
			CAData string `yaml:"certificate-authority-data"`
			CAFile string `yaml:"certificate-authority"`
		} `yaml:"cluster"`
	} `yaml:"clusters"`
}

// ParseKubeconfig reads one kubeconfig. file is its path: a relative path of an authority starts at its directory. An
// authority that cannot be read is left unknown: the tool may fail for it, and that is the tool's to say.
func ParseKubeconfig(file string, b []byte, read ReadFile) (act.Kubeconfig, error) {
	var k kubeconfig
	if err := decode(file, "kubeconfig", b, &k); err != nil {
		return act.Kubeconfig{}, err
	}
	out := act.Kubeconfig{CurrentContext: k.CurrentContext}
	seen := map[string]bool{}
	for _, c := range k.Contexts {
		if seen[c.Name] {
			return act.Kubeconfig{}, fmt.Errorf("%s has two contexts %q", file, c.Name)
		}
		seen[c.Name] = true
		out.Contexts = append(out.Contexts, act.KubeContext{
			Name: c.Name, Cluster: c.Context.Cluster, User: c.Context.User, Namespace: c.Context.Namespace,
		})
	}
	seen = map[string]bool{}
	for _, c := range k.Clusters {
		if seen[c.Name] {
			return act.Kubeconfig{}, fmt.Errorf("%s has two clusters %q", file, c.Name)
		}
		seen[c.Name] = true
		out.Clusters = append(out.Clusters, act.KubeCluster{
			Name: c.Name, Server: Server(c.Cluster.Server), CA: authority(file, c.Cluster.CAData, c.Cluster.CAFile, read),
		})
	}
	return out, nil
}

// authority is the digest of a cluster's authority, given as data or as a file. Data wins, as it does for the tools.
func authority(file, data, path string, read ReadFile) string {
	if data != "" {
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(data))
		if err != nil {
			return ""
		}
		return CADigest(b)
	}
	if path == "" || read == nil {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	b, err := read(path)
	if err != nil {
		return ""
	}
	return CADigest(b)
}

// CADigest is the hex SHA-256 of the first certificate (DER) in PEM text; empty if there is none.
func CADigest(text []byte) string {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			sum := sha256.Sum256(block.Bytes)
			return hex.EncodeToString(sum[:])
		}
	}
	return ""
}

// Server keeps scheme, host and port of an API's address, in canonical form: lower case, IP addresses as the library
// writes them. User information, path and query are dropped. Text that is no address becomes empty.
func Server(s string) string {
	if !strings.Contains(s, "://") && s != "" {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return ""
	}
	host := Host(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" {
		host += ":" + port
	}
	return u.Scheme + "://" + host
}

// Host is a host in canonical form: an IP address as the library writes it, a name in lower case.
func Host(s string) string {
	if addr, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return addr.Unmap().String()
	}
	return strings.ToLower(s)
}

// InCluster is what a pod knows of its own cluster, from its environment and the files of its service account. Without
// the variables or the token, which is not handed in but said to be there, the process is in no cluster.
func InCluster(env func(string) string, hasToken bool, ca, namespace []byte) act.InCluster {
	host, port := env("KUBERNETES_SERVICE_HOST"), env("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" || !hasToken {
		return act.InCluster{}
	}
	in := act.InCluster{Server: Server("https://" + net.JoinHostPort(host, port)), CA: CADigest(ca), Namespace: env("POD_NAMESPACE")}
	if in.Namespace == "" {
		in.Namespace = strings.TrimSpace(string(namespace))
	}
	return in
}

// talosconfig is the part of a talosconfig that is decoded.
type talosconfig struct {
	Context  string `yaml:"context"`
	Contexts map[string]struct {
		Endpoints []string `yaml:"endpoints"`
		Target    string   `yaml:"target"` // what endpoints were called once
		Nodes     []string `yaml:"nodes"`
		CA        string   `yaml:"ca"`
		Cluster   string   `yaml:"cluster"`
	} `yaml:"contexts"`
}

// ParseTalosconfig reads one talosconfig.
func ParseTalosconfig(file string, b []byte) (act.Talosconfig, error) {
	var t talosconfig
	if err := decode(file, "talosconfig", b, &t); err != nil {
		return act.Talosconfig{}, err
	}
	out := act.Talosconfig{Context: t.Context}
	for _, name := range slices.Sorted(maps.Keys(t.Contexts)) {
		c := t.Contexts[name]
		context := act.TalosContext{Name: name, Cluster: c.Cluster, CA: authority(file, c.CA, "", nil)}
		if len(c.Endpoints) == 0 && c.Target != "" {
			c.Endpoints = []string{c.Target}
		}
		for _, e := range c.Endpoints {
			context.Endpoints = append(context.Endpoints, Host(e))
		}
		for _, n := range c.Nodes {
			context.Nodes = append(context.Nodes, Host(n))
		}
		out.Contexts = append(out.Contexts, context)
	}
	return out, nil
}

// yamlLine finds the line in the YAML library's messages.
var yamlLine = regexp.MustCompile(`line (\d+)`)

// decode decodes YAML, of which JSON is a part. The library's messages quote values, which can be secrets: only the line
// is taken from them.
func decode(file, what string, b []byte, into any) error {
	if len(b) > MaxSize {
		return fmt.Errorf("%s is larger than %d MiB: no %s", file, MaxSize>>20, what)
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil // an empty file selects nothing
	}
	if err := yaml.Unmarshal(b, into); err != nil {
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			return fmt.Errorf("%s:%s: this is not the YAML of a %s", file, m[1], what)
		}
		return errors.New(file + " is not the YAML of a " + what)
	}
	return nil
}
