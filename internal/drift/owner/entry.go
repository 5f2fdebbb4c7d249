package owner

import (
	"fmt"
	"time"

	"github.com/clewops/clew/internal/drift/tree"
)

// Operation is how a manager writes: by applying a configuration or by changing an object.
type Operation string

// Operations of managedFields.
const (
	Apply  Operation = "Apply"
	Update Operation = "Update"
)

// Owner is a manager as one entry of managedFields names it.
type Owner struct {
	Manager     string
	Operation   Operation
	Subresource string    // "scale", "status" or ""
	Time        time.Time // of the entry's last change; zero where the API gives none, as for "kubectl scale"
}

// Entry is an entry of managedFields.
type Entry struct {
	Owner
	APIVersion string
	Fields     *Set
}

// Fields are the entries of one object. Absent says that the object came without managedFields, as "kubectl get -o yaml"
// prints it, so that nothing about owners is known; an object nobody owns a field of is not Absent.
type Fields struct {
	Entries []Entry
	Absent  bool
}

// Read reads metadata.managedFields of a live object. It fails on entries that cannot be read: an owner that is not
// known must not look like no owner.
func Read(live any) (Fields, error) {
	list, ok := tree.Field(live, "metadata", "managedFields").([]any)
	if !ok || len(list) == 0 {
		return Fields{Absent: true}, nil
	}
	var f Fields
	for i, raw := range list {
		e, err := readEntry(raw)
		if err != nil {
			return Fields{}, fmt.Errorf("entry %d of managedFields: %w", i, err)
		}
		f.Entries = append(f.Entries, e)
	}
	return f, nil
}

func readEntry(raw any) (Entry, error) {
	e := Entry{
		Owner: Owner{
			Manager:     tree.Text(raw, "manager"),
			Operation:   Operation(tree.Text(raw, "operation")),
			Subresource: tree.Text(raw, "subresource"),
		},
		APIVersion: tree.Text(raw, "apiVersion"),
	}
	if t := tree.Text(raw, "fieldsType"); t != "FieldsV1" {
		return Entry{}, fmt.Errorf("%s has fields of type %q", e.Manager, t)
	}
	if e.Operation != Apply && e.Operation != Update {
		return Entry{}, fmt.Errorf("%s has the operation %q", e.Manager, e.Operation)
	}
	if text := tree.Text(raw, "time"); text != "" {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return Entry{}, fmt.Errorf("%s: %w", e.Manager, err)
		}
		e.Time = t.UTC()
	}
	fields := tree.Field(raw, "fieldsV1")
	if fields == nil {
		fields = map[string]any{}
	}
	s, err := ParseSet(fields)
	if err != nil {
		return Entry{}, fmt.Errorf("%s: %w", e.Manager, err)
	}
	e.Fields = s
	return e, nil
}

// Of are the owners of the place that path leads to: those that have it, or have a whole that it is part of. Where
// nobody has, they are those that have something below it.
func (f Fields) Of(path tree.Path) []Owner {
	if owners := f.where(func(s *Set) bool { return s.Covers(path) }); len(owners) > 0 {
		return owners
	}
	return f.where(func(s *Set) bool { return s.At(path).Any() })
}

// Within are the owners of the place that path leads to and of everything below it.
func (f Fields) Within(path tree.Path) []Owner {
	return f.where(func(s *Set) bool { return s.Covers(path) || s.At(path).Any() })
}

func (f Fields) where(has func(*Set) bool) []Owner {
	var owners []Owner
	for _, e := range f.Entries {
		if has(e.Fields) {
			owners = append(owners, e.Owner)
		}
	}
	return owners
}
