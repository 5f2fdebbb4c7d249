package act_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewops/clew/internal/act"
)

func BenchmarkMatch(b *testing.B) {
	list := act.Shipped()
	argv := words("kubectl --context prod -n shop rollout restart deploy/web deploy/api --field-manager=x")
	none := func(string) string { return "" }
	for b.Loop() {
		act.Match(list, argv, none)
	}
}

// BenchmarkStart is the start of a whole process that understands one command line, beside that of an empty program.
func BenchmarkStart(b *testing.B) {
	for _, name := range []string{"empty", "match"} {
		program := filepath.Join(b.TempDir(), name)
		if out, err := exec.Command("go", "build", "-o", program, "./testdata/start/"+name).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := exec.Command(program).Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
