package drift

import (
	"encoding/base64"
	"maps"
	"strings"

	"github.com/clewops/clew/internal/drift/apply"
	"github.com/clewops/clew/internal/drift/tree"
)

// bookkeeping are fields of metadata that the server or tools keep and nobody means by what an object says.
var bookkeeping = []string{
	"creationTimestamp", "uid", "resourceVersion", "generation", "managedFields", "selfLink", "deletionTimestamp",
	"deletionGracePeriodSeconds", "name", "namespace", "generateName",
}

// bookkeepingAnnotations are copies of what an object said once.
var bookkeepingAnnotations = []string{"kubectl.kubernetes.io/last-applied-configuration"}

// prepare is what of an object is compared: without status and bookkeeping, a Secret's stringData as data. It changes a
// copy.
func prepare(id Identity, object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	out := maps.Clone(object)
	delete(out, "status")
	delete(out, "apiVersion")
	delete(out, "kind")
	delete(out, "sops")
	if meta := tree.Map(object, "metadata"); meta != nil {
		meta = maps.Clone(meta)
		for _, name := range bookkeeping {
			delete(meta, name)
		}
		without(meta, "annotations", bookkeepingAnnotations...)
		if id.Kind == "Namespace" && id.Group == "" {
			without(meta, "labels", "kubernetes.io/metadata.name")
		}
		out["metadata"] = meta
	}
	if id.Group == "" && id.Kind == "Secret" {
		foldStringData(out)
		unwrapBase64(out, "data")
	}
	if id.Group == "" && id.Kind == "ConfigMap" {
		unwrapBase64(out, "binaryData")
	}
	return out
}

// unwrapBase64 takes line breaks out of encoded values, as the server does.
func unwrapBase64(object map[string]any, field string) {
	data := maps.Clone(tree.Map(object, field))
	if data == nil {
		return
	}
	for k, v := range data {
		if s, ok := v.(string); ok && strings.ContainsAny(s, "\r\n") {
			data[k] = strings.NewReplacer("\r", "", "\n", "").Replace(s)
		}
	}
	object[field] = data
}

// without takes names out of a copy of the map at field.
func without(meta map[string]any, field string, names ...string) {
	m, ok := meta[field].(map[string]any)
	if !ok {
		return
	}
	m = maps.Clone(m)
	for _, name := range names {
		delete(m, name)
	}
	if len(m) == 0 {
		delete(meta, field)
		return
	}
	meta[field] = m
}

// foldStringData does what Flux and the server do: stringData goes over data. Encrypted text stays recognizable.
func foldStringData(object map[string]any) {
	text, ok := object["stringData"].(map[string]any)
	if !ok {
		return
	}
	data := maps.Clone(tree.Map(object, "data"))
	if data == nil {
		data = map[string]any{}
	}
	for k, v := range text {
		s, ok := v.(string)
		if ok && !encrypted(s) {
			v = base64.StdEncoding.EncodeToString([]byte(s))
		}
		data[k] = v
	}
	delete(object, "stringData")
	object["data"] = data
}

// ownerLabels are the labels that Flux puts on whatever it applies.
var ownerLabels = []string{apply.Group + "/name", apply.Group + "/namespace"}

// labelled is a prepared object with the labels that the Kustomization's objects get.
func labelled(object map[string]any, f Flow) map[string]any {
	out := maps.Clone(object)
	meta := maps.Clone(tree.Map(object, "metadata"))
	if meta == nil {
		meta = map[string]any{}
	}
	labels := maps.Clone(tree.Map(meta, "labels"))
	if labels == nil {
		labels = map[string]any{}
	}
	labels[ownerLabels[0]], labels[ownerLabels[1]] = f.Name, f.Namespace
	meta["labels"], out["metadata"] = labels, meta
	return out
}

// unlabelled is a prepared object without those labels.
func unlabelled(object map[string]any) map[string]any {
	meta := tree.Map(object, "metadata")
	if meta == nil {
		return object
	}
	out, meta := maps.Clone(object), maps.Clone(meta)
	without(meta, "labels", ownerLabels...)
	out["metadata"] = meta
	return out
}
