package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decodeStrict decodes one YAML document into the struct that into points to. A key that the struct does not have,
// a second document or a value of the wrong kind is an error that names file and line.
func decodeStrict(file string, b []byte, into any) error {
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil // an empty file sets nothing
		}
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: only one document is allowed", file)
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil // comments only
	}
	if err := checkKeys(file, root, reflect.TypeOf(into).Elem(), ""); err != nil {
		return err
	}
	if err := root.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// checkKeys compares a mapping's keys with a struct's YAML tags, downwards. The decoder could refuse unknown keys
// itself, but it would name a Go type; this names the key, the line and what would have been right.
func checkKeys(file string, n *yaml.Node, t reflect.Type, path string) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("%s:%d: %s must be a mapping of keys to values", file, n.Line, orFile(path))
	}
	known := yamlFields(t)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := path + key.Value
		field, ok := known[key.Value]
		if !ok {
			return fmt.Errorf("%s:%d: unknown key %q; known here: %s", file, key.Line, name, names(known))
		}
		if field.Kind() == reflect.Struct {
			if err := checkKeys(file, value, field, name+"."); err != nil {
				return err
			}
			continue
		}
		if value.Kind != yaml.ScalarNode {
			return fmt.Errorf("%s:%d: %q must be a single value", file, value.Line, name)
		}
	}
	return nil
}

// yamlFields maps the YAML names of a struct's fields to their types.
func yamlFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		if tag, ok := f.Tag.Lookup("yaml"); ok && tag != "-" {
			fields[tag] = f.Type
		}
	}
	return fields
}

func names(fields map[string]reflect.Type) string {
	list := make([]string, 0, len(fields))
	for name := range fields {
		list = append(list, name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func orFile(path string) string {
	if path == "" {
		return "the file"
	}
	return fmt.Sprintf("%q", strings.TrimSuffix(path, "."))
}
