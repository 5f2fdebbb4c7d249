package recogniserfile

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/clewops/clew/internal/act"
)

var update = flag.Bool("update", false, "write the table of shipped recognisers")

// Places relative to this package.
const (
	shippedDir   = "../../act/recognisers"
	programsFile = "../../act/programs.yaml"
	tableFile    = "../../act/table.go"
)

// literal prints a value as a Go literal without its zero fields. Everything is data for the linker: no map and no
// pointer, so that nothing runs at the program's start.
func literal(b *bytes.Buffer, v reflect.Value, outer bool) {
	name := func() string { return strings.ReplaceAll(v.Type().String(), "act.", "") }
	switch v.Kind() {
	case reflect.Struct:
		if outer {
			b.WriteString(name())
		}
		b.WriteString("{")
		first := true
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				continue
			}
			if !first {
				b.WriteString(", ")
			}
			first = false
			b.WriteString(v.Type().Field(i).Name + ": ")
			literal(b, v.Field(i), true)
		}
		b.WriteString("}")
	case reflect.Slice:
		if outer {
			b.WriteString(name())
		}
		b.WriteString("{")
		long := v.Type().Elem().Kind() == reflect.Struct
		for i := range v.Len() {
			if long {
				b.WriteString("\n")
			} else if i > 0 {
				b.WriteString(", ")
			}
			literal(b, v.Index(i), false)
			if long {
				b.WriteString(",")
			}
		}
		if long {
			b.WriteString("\n")
		}
		b.WriteString("}")
	case reflect.String:
		fmt.Fprintf(b, "%q", v.String())
	case reflect.Bool:
		fmt.Fprint(b, v.Bool())
	case reflect.Int64:
		if v.Type() == reflect.TypeFor[time.Duration]() {
			fmt.Fprintf(b, "%d * time.Millisecond", v.Interface().(time.Duration).Milliseconds())
			return
		}
		fmt.Fprint(b, v.Int())
	case reflect.Int:
		fmt.Fprint(b, v.Int())
	default:
		panic("no literal for " + v.Type().String())
	}
}

// table is the source of the generated file.
func table(t *testing.T) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shippedDir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no shipped recognisers: %v", err)
	}
	var list []act.Recogniser
	for _, file := range files {
		r, err := Read(file)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	text, err := os.ReadFile(programsFile)
	if err != nil {
		t.Fatal(err)
	}
	programs, err := ParsePrograms(programsFile, text)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	b.WriteString("// Code generated from recognisers/*.yaml and programs.yaml by go generate; DO NOT EDIT.\n\npackage act\n\nimport \"time\"\n\n")
	b.WriteString("var shippedRecognisers = [...]Recogniser")
	literalList(&b, reflect.ValueOf(list))
	b.WriteString("\n\nvar shippedPrograms = [...]Program")
	literalList(&b, reflect.ValueOf(programs))
	b.WriteString("\n")
	out, err := format.Source(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// literalList prints the elements of a slice, without its type.
func literalList(b *bytes.Buffer, v reflect.Value) { literal(b, v, false) }

func TestTableIsCurrent(t *testing.T) {
	want := table(t)
	if *update {
		if err := os.WriteFile(tableFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Fatal("the table of recognisers is not what their files say: run go generate ./internal/act")
	}
}
