package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/clewops/clew/internal/config"
)

// listing is every file of a directory with mode and content.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range files {
		info, err := os.Stat(filepath.Join(dir, f.Name()))
		if err != nil {
			got[f.Name()] = err.Error()
			continue
		}
		content, _ := os.ReadFile(filepath.Join(dir, f.Name()))
		got[f.Name()] = info.Mode().String() + string(content)
	}
	return got
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func foreignDatabase(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE bookmarks (url TEXT)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func openFile(path string, inspect bool) (*Store, error) {
	return Open(context.Background(), Config{
		Location: config.Location{Engine: config.SQLite, Path: path}, Clock: time.Now, Inspect: inspect,
	})
}

// TestWhatIsNoStoreIsLeftAlone: neither content nor mode changes and nothing appears beside it, through links as well,
// whether the store is opened to look or for use. An empty file may become a store, but not by looking.
func TestWhatIsNoStoreIsLeftAlone(t *testing.T) {
	cases := map[string]struct {
		make  func(t *testing.T, path string)
		inUse bool // the same holds when it is opened for use
	}{
		"text":             {func(t *testing.T, path string) { writeText(t, path, "root:x\n") }, true},
		"another database": {foreignDatabase, true},
		"an empty file":    {func(t *testing.T, path string) { writeText(t, path, "") }, false},
	}
	for name, c := range cases {
		for _, inspect := range []bool{true, false} {
			if !inspect && !c.inUse {
				continue
			}
			t.Run(name+map[bool]string{true: ", to look", false: ", for use"}[inspect], func(t *testing.T) {
				dir := t.TempDir()
				victim, link := filepath.Join(dir, "victim"), filepath.Join(dir, "link")
				c.make(t, victim)
				if err := errors.Join(os.Chmod(victim, 0o644), os.Symlink(victim, link)); err != nil {
					t.Fatal(err)
				}
				leftAlone(t, dir, inspect, victim, link)
			})
		}
	}
	t.Run("nothing, to look", func(t *testing.T) {
		dir := t.TempDir()
		leftAlone(t, dir, true, filepath.Join(dir, "none"))
	})
	t.Run("a link to nothing", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Symlink(filepath.Join(dir, "none"), filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		leftAlone(t, dir, false, filepath.Join(dir, "link"))
	})
}

func leftAlone(t *testing.T, dir string, inspect bool, paths ...string) {
	t.Helper()
	before := listing(t, dir)
	for _, path := range paths {
		s, err := openFile(path, inspect)
		if err == nil {
			_ = s.Close(context.Background())
			t.Fatalf("%s was taken for a store", path)
		}
		if !errors.Is(err, ErrNotAStore) && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the error does not say that it is none: %v", err)
		}
	}
	after := listing(t, dir)
	for f, want := range before {
		if after[f] != want {
			t.Errorf("%s was changed", f)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files before, %d after", len(before), len(after))
	}
}

// TestALinkLeadsToOneStore: who comes by a link uses the same lock and the same memory of the heads.
func TestALinkLeadsToOneStore(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "store.db"), filepath.Join(dir, "link.db")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{real, link} {
		s, err := openFile(path, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for _, beside := range []string{".lock", ".head"} {
		if _, err := os.Lstat(link + beside); err == nil {
			t.Errorf("there is a %s beside the link", beside)
		}
		if _, err := os.Lstat(real + beside); err != nil {
			t.Errorf("there is no %s beside the store", beside)
		}
	}
}
