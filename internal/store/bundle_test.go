package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store"
	"github.com/clewops/clew/internal/store/storetest"
	"github.com/clewops/clew/internal/store/storetest/world"
)

func exported(t testing.TB, w *world.World) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := w.Store.Export(ctx, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// lines are a bundle's, each with its newline.
func lines(bundle []byte) [][]byte { return bytes.SplitAfter(bundle, []byte("\n")) }

func TestVerifyBundle(t *testing.T) {
	eachEventful(t, func(t *testing.T, w *world.World, _ tamper) {
		bundle := exported(t, w)
		checkpoint, err := w.Store.Checkpoint(ctx)
		if err != nil {
			t.Fatal(err)
		}
		r, err := store.VerifyBundle(bytes.NewReader(bundle), store.VerifyOptions{Checkpoint: &checkpoint})
		if err != nil {
			t.Fatal(err)
		}
		wantHolds(t, r)
		of := verify(t, w, store.VerifyOptions{})
		if r.Engine != "bundle" || r.Entries != of.Entries || r.Scopes != of.Scopes || r.Installation != of.Installation ||
			r.AnchoredRevision != of.AnchoredRevision || fmt.Sprint(r.Unanchored) != fmt.Sprint(of.Unanchored) {
			t.Errorf("the bundle's report is\n%+v\nthe store's\n%+v", r, of)
		}
	})
}

// An entry of a bundle that is changed or taken out is named.
func TestVerifyBundleFindsChanges(t *testing.T) {
	bundle := exported(t, eventful(t, storetest.New(t, config.SQLite)))
	all := lines(bundle)
	for i, line := range all {
		var l struct{ Entry *ledger.Entry }
		if err := json.Unmarshal(line, &l); err != nil || l.Entry == nil || i%9 != 0 {
			continue
		}
		e := l.Entry
		changed := bytes.Replace(line, []byte(`"kind":"`+e.Kind+`"`), []byte(`"kind":"x`+e.Kind+`"`), 1)
		r, err := store.VerifyBundle(bytes.NewReader(bytes.Join(append(append([][]byte{}, all[:i]...), append([][]byte{changed}, all[i+1:]...)...), nil)), store.VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wantNamed(t, r, e.Scope, e.Revision)

		rest := bytes.Join(append(append([][]byte{}, all[:i]...), all[i+1:]...), nil)
		r, err = store.VerifyBundle(bytes.NewReader(recount(t, rest, -1)), store.VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wantNamed(t, r, e.Scope, e.Revision)
	}
}

// recount corrects the count of entries at a bundle's end.
func recount(t *testing.T, bundle []byte, by int64) []byte {
	t.Helper()
	all := lines(bundle)
	for i, line := range all {
		var l struct {
			End *struct{ Heads, Entries int64 }
		}
		if json.Unmarshal(line, &l) == nil && l.End != nil {
			all[i] = fmt.Appendf(nil, `{"end":{"heads":%d,"entries":%d}}`, l.End.Heads, l.End.Entries+by)
		}
	}
	return bytes.Join(all, nil)
}

func TestVerifyBundleRefusesOtherFiles(t *testing.T) {
	bundle := string(exported(t, world.New(t, storetest.New(t, config.SQLite))))
	header, rest, _ := strings.Cut(bundle, "\n")
	for name, c := range map[string]struct{ file, want string }{
		"empty":           {"", "empty"},
		"text":            {"hello\n", "no line of a bundle"},
		"binary":          {"\x00\xff\x7fELF\n\x00", "no line of a bundle"},
		"no header":       {rest, "begins with its header"},
		"two headers":     {header + "\n" + bundle, "begins with its header"},
		"another format":  {strings.Replace(bundle, "clew bundle", "clew checkpoint", 1), "calls itself"},
		"another version": {strings.Replace(bundle, `"version":1`, `"version":2`, 1), "version 2"},
		"cut off":         {bundle[:len(bundle)*2/3], "bundle"},
		"without its end": {bundle[:strings.LastIndex(bundle, `{"end"`)], "cut off"},
		"more at the end": {bundle + "{}\n", "after the end"},
		"a wrong count":   {string(recount(t, []byte(bundle), 1)), "its end counts"},
		"a head later":    {strings.Replace(bundle, `{"end"`, `{"head":{"scope":{"kind":"machine","id":"x"},"revision":1,"hash":"`+(ledger.Hash{}).String()+"\"}}\n{\"end\"", 1), "among the entries"},
		"nothing":         {header + "\n{}\n", "says nothing"},
		"a long line":     {header + "\n" + strings.Repeat(" ", 33<<20), "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := store.VerifyBundle(strings.NewReader(c.file), store.VerifyOptions{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error about %q", err, c.want)
			}
		})
	}
}

func TestReadCheckpointRefusesOtherFiles(t *testing.T) {
	for name, file := range map[string]string{
		"empty": "", "binary": "\x00\x01", "another": `{"format":"clew bundle","version":1}`, "version": `{"format":"clew checkpoint","version":9}`,
	} {
		if _, err := store.ReadCheckpoint(strings.NewReader(file)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzBundle: whatever a file holds, it is read or refused.
func FuzzBundle(f *testing.F) {
	w := world.New(f, storetest.New(f, config.SQLite))
	m := w.Machine("one")
	m.Complete(w.Process(), m.Approved(w.Config("next"), func(p *dispatch.Plan) { p.Rollout = &dispatch.Rollout{ID: "weekly", Limit: 1} }))
	bundle := exported(f, w)
	f.Add(bundle)
	f.Add([]byte{})
	f.Add([]byte("{}\n"))
	f.Add(bundle[:len(bundle)/2])
	f.Add(bytes.ReplaceAll(bundle, []byte(`"revision":`), []byte(`"revision":-`)))
	f.Add(bytes.ReplaceAll(bundle, []byte(`"machine":`), []byte(`"plan":`)))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := store.VerifyBundle(bytes.NewReader(file), store.VerifyOptions{MaxProblems: 10})
		if err == nil && len(r.Problems) > 10 {
			t.Errorf("%d problems are reported", len(r.Problems))
		}
	})
}
