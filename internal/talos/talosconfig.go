package talos

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"

	"github.com/clewops/clew/internal/secret"
)

// maxTalosconfig is far above what contexts of many clusters need, and far below what would hurt to read.
const maxTalosconfig = 1 << 20

// Config is one context of a talosconfig. It holds a private key, so every way of printing it shows only its name.
type Config struct {
	name    string
	context *clientconfig.Context
}

// LoadConfig reads the talosconfig at path and picks a context of it; an empty name picks the file's current one. The
// file must be a regular one of at most 1 MiB. Errors name the path and what is wrong, never what the file holds.
func LoadConfig(path, contextName string) (*Config, error) {
	b, err := readTalosconfig(path)
	if err != nil {
		return nil, err
	}
	file := parseContexts(b)
	if file == nil {
		return nil, fmt.Errorf("talosconfig %q is not a YAML file of contexts", path)
	}
	if contextName == "" {
		contextName = file.Context
	}
	chosen := file.Contexts[contextName]
	if chosen == nil {
		return nil, missingContext(path, contextName, file.Contexts)
	}
	if err := checkContext(chosen); err != nil {
		return nil, fmt.Errorf("talosconfig %q, context %q: %w", path, contextName, err)
	}
	return &Config{name: contextName, context: chosen}, nil
}

// parseContexts is nil for what is no talosconfig. The parser's own error is dropped: it quotes what it stumbles over,
// which may be a key. A context without a value makes the library panic.
func parseContexts(b []byte) (file *clientconfig.Config) {
	defer func() {
		if recover() != nil {
			file = nil
		}
	}()
	file, err := clientconfig.FromBytes(b)
	if err != nil {
		return nil
	}
	return file
}

func missingContext(path, name string, contexts map[string]*clientconfig.Context) error {
	if len(contexts) == 0 {
		return fmt.Errorf("talosconfig %q holds no context", path)
	}
	var have []string
	for _, n := range slices.Sorted(maps.Keys(contexts)) {
		have = append(have, strconv.Quote(n))
	}
	list := strings.Join(have, ", ")
	if name == "" {
		return fmt.Errorf("talosconfig %q names no current context; choose one of %s", path, list)
	}
	return fmt.Errorf("talosconfig %q has no context %q; it has %s", path, name, list)
}

// readTalosconfig looks at the file before it opens it, so that a FIFO, a device or a directory is an error and never
// something to wait for.
func readTalosconfig(path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("no talosconfig is named")
	}
	fail := func(err error) ([]byte, error) {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err // the path is already in the message, quoted
		}
		return nil, fmt.Errorf("reading talosconfig %q: %w", path, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fail(err)
	}
	if !info.Mode().IsRegular() {
		return fail(errors.New("it is not a regular file"))
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openWithoutWaiting, 0)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = f.Close() }()
	if info, err = f.Stat(); err != nil {
		return fail(err)
	}
	if !info.Mode().IsRegular() {
		return fail(errors.New("it is not a regular file"))
	}
	b, err := io.ReadAll(io.LimitReader(f, maxTalosconfig+1))
	switch {
	case err != nil:
		return fail(err)
	case len(b) > maxTalosconfig:
		return fail(fmt.Errorf("it is larger than %d bytes, which no talosconfig is", maxTalosconfig))
	case !utf8.Valid(b) || strings.ContainsRune(string(b), 0):
		return fail(errors.New("it is not text"))
	case strings.TrimSpace(string(b)) == "":
		return fail(errors.New("it is empty"))
	}
	return b, nil
}

// checkContext finds unusable credentials where they are named, and not at the first connection.
func checkContext(c *clientconfig.Context) error {
	if c.Auth.SideroV1 != nil {
		return errors.New("it signs in to Omni; machines that Omni manages are changed in Omni")
	}
	certificate, err := client.CertificateFromConfigContext(c)
	if err != nil {
		return errors.New("its client certificate and key are not a pair of base64-encoded PEM blocks that belong together")
	}
	if certificate == nil && c.Auth.Basic == nil {
		return errors.New("it has no client certificate")
	}
	return nil
}

// ContextName is the name of the context in its file.
func (c *Config) ContextName() string { return c.name }

// Endpoints are the endpoints that the context names, in its order; there may be none.
func (c *Config) Endpoints() []string { return slices.Clone(c.context.Endpoints) }

// NodeNames are the nodes that the context names, in its order; there may be none.
func (c *Config) NodeNames() []string { return slices.Clone(c.context.Nodes) }

// Format prints the name whatever the verb.
func (c *Config) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "talosconfig context %q", c.name) }

// MarshalJSON refuses: credentials that would be encoded are a mistake.
func (c *Config) MarshalJSON() ([]byte, error) { return secret.Bytes{}.MarshalJSON() }

// MarshalYAML refuses, as MarshalJSON does.
func (c *Config) MarshalYAML() (any, error) { return secret.Bytes{}.MarshalYAML() }

// hostOf takes the brackets of an IPv6 literal away and refuses an address with a port: the port of the Talos API is
// fixed, and a forwarding endpoint refuses any.
func hostOf(address string) (string, error) {
	host := strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.String(), nil
	}
	if host == "" {
		return "", errors.New("no address is given")
	}
	h, port, err := net.SplitHostPort(address)
	if _, numeric := strconv.ParseUint(port, 10, 16); err == nil && numeric == nil {
		return "", fmt.Errorf("address %q has a port; the Talos API is always on port %d, so give only %q", address, apidPort, h)
	}
	for _, r := range host {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.', r == '_':
		default:
			return "", fmt.Errorf("%q is neither an IP address nor a host name", address)
		}
	}
	return host, nil
}
