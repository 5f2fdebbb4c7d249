package talos

import (
	"errors"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"go.yaml.in/yaml/v4"

	"github.com/clewops/clew/internal/secret"
)

func init() {
	// Each copy operation of a JSON patch may double the document. The library bounds that only when it is told to.
	jsonpatch.AccumulatedCopySizeLimit = MaxConfig
}

// ApplyPatches applies Talos patches, one after the other, to a configuration, as talosctl does: strategic merge with
// "$patch: delete", JSON patches (RFC 6902, which Talos offers for single-document configurations only), several
// documents. The result is validated as by Validate; comments of the configuration are lost in it, as Talos encodes it
// anew. Together the patches may have MaxConfig bytes. Errors are as ParseConfig's.
func ApplyPatches(config secret.Bytes, patches [][]byte) (secret.Bytes, error) {
	if len(patches) == 0 {
		return secret.Bytes{}, invalid("patch-empty", "there is no patch")
	}
	m, err := ParseConfig(config.Reveal())
	if err != nil {
		return secret.Bytes{}, err
	}
	hidden := m.hidden()
	total := 0
	in := configpatcher.WithBytes(config.Reveal())
	for i, p := range patches {
		nth := ""
		if len(patches) > 1 {
			nth = fmt.Sprintf(" %d", i+1)
		}
		if total += len(p); total > MaxConfig {
			return secret.Bytes{}, invalid("config-too-large", fmt.Sprintf("the patches have more than %d bytes together", MaxConfig))
		}
		docs, err := readDocuments(p)
		if err != nil {
			return secret.Bytes{}, err
		}
		hidden = append(hidden, hiddenInPatch(docs)...)
		if in, err = applyPatch(in, p); err != nil {
			return secret.Bytes{}, invalid("patch-refused", "patch"+nth+" cannot be applied: "+cleanMessage(err, hidden))
		}
	}
	return patched(in, hidden)
}

// patched is the configuration that came out, once it has passed what every configuration has to pass.
func patched(out configpatcher.Output, hidden [][]byte) (secret.Bytes, error) {
	b, err := outputBytes(out)
	if err != nil {
		return secret.Bytes{}, invalid("patch-refused", "the patched configuration cannot be encoded: "+cleanMessage(err, hidden))
	}
	m, err := ParseConfig(b)
	if err != nil {
		return secret.Bytes{}, err
	}
	if _, err := m.validate(); err != nil {
		return secret.Bytes{}, err
	}
	return m.Bytes(), nil
}

func outputBytes(out configpatcher.Output) (b []byte, err error) {
	defer recovered(&err)
	return out.Bytes()
}

func applyPatch(in configpatcher.Input, text []byte) (out configpatcher.Output, err error) {
	defer recovered(&err)
	patch, err := configpatcher.LoadPatch(text)
	if err != nil {
		return nil, err
	}
	switch p := patch.(type) {
	case jsonpatch.Patch:
		if len(p) == 0 {
			return nil, errors.New("it is empty")
		}
	case configpatcher.StrategicMergePatch:
		if err := deletesExist(in, p); err != nil {
			return nil, err
		}
	}
	return configpatcher.Apply(in, []configpatcher.Patch{patch})
}

// deletesExist refuses to delete from a document that is not there: Talos' library would add the deletion itself as a
// document.
func deletesExist(in configpatcher.Input, p configpatcher.StrategicMergePatch) error {
	config, err := in.Config()
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, d := range config.Documents() {
		there[documentID(d)] = true
	}
	for _, d := range p.Documents() {
		id := documentID(d)
		if _, deletes := d.(configloader.Selector); deletes && !there[id] {
			return fmt.Errorf("it deletes from document %s, which the configuration does not have", id)
		}
		there[id] = true
	}
	return nil
}

// hiddenInPatch are the values of a patch that are not to be shown. In a JSON patch a value's name stands apart from it,
// so all values are.
func hiddenInPatch(docs []*yaml.Node) [][]byte {
	all := hiddenIn(docs)
	for _, d := range docs {
		if d.Kind == yaml.SequenceNode {
			all = append(all, patchValues(d)...)
		}
	}
	return all
}

func patchValues(list *yaml.Node) [][]byte {
	var all [][]byte
	for _, op := range list.Content {
		for i := 0; i+1 < len(op.Content); i += 2 {
			if op.Content[i].Value == "value" {
				all = append(all, scalars(op.Content[i+1:i+2])...)
			}
		}
	}
	return all
}
