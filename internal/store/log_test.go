package store

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/clewops/clew/internal/ledger"
)

func TestEntriesAreFilteredAndPaged(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		one, two := testScope, ledger.Scope{Kind: "test", ID: "two"}
		write(t, s, one, 5)
		write(t, s, two, 4)
		list := func(f EntryFilter) []ledger.Entry {
			t.Helper()
			got, err := s.Entries(ctx, f)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		all := list(EntryFilter{Scopes: []string{"test"}})
		if len(all) != 9 || !slices.IsSortedFunc(all, func(a, b ledger.Entry) int { return a.At.Compare(b.At) }) {
			t.Fatalf("%d entries", len(all))
		}
		var paged []ledger.Entry
		f := EntryFilter{Scopes: []string{"test"}, Limit: 2}
		for {
			page := list(f)
			if len(page) == 0 {
				break
			}
			paged = append(paged, page...)
			c := CursorOf(page[len(page)-1])
			f.After = &c
		}
		if len(paged) != 9 {
			t.Fatalf("%d entries by pages", len(paged))
		}
		for i := range paged {
			if paged[i].Hash != all[i].Hash {
				t.Fatalf("page order differs at %d", i)
			}
		}
		if got := list(EntryFilter{Scopes: []string{"test"}, Newest: true, Limit: 2}); len(got) != 2 || got[1].Hash != all[8].Hash {
			t.Fatalf("the newest: %+v", got)
		}
		if got := list(EntryFilter{Scope: &one, By: "ann", Kinds: []string{"test.written", "other"}}); len(got) != 5 {
			t.Fatalf("%d of ann's", len(got))
		}
		for _, by := range []string{"an", `ann"`, "%", "instance"} {
			if got := list(EntryFilter{By: by}); len(got) != 0 {
				t.Errorf("%d entries by %q", len(got), by)
			}
		}
		if got := list(EntryFilter{Since: all[8].At.Add(time.Hour)}); len(got) != 0 {
			t.Fatalf("%d entries of the future", len(got))
		}
		e, err := s.Entry(ctx, two, 3)
		if err != nil || e.Revision != 3 || e.Scope != two {
			t.Fatalf("%+v, %v", e, err)
		}
		if _, err := s.Entry(ctx, two, 5); !errors.Is(err, ErrNotFound) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestNamesAreResolved(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		admit(t, s)
		for _, name := range []string{"anna", "bert", "x_z", "xyz"} {
			if _, err := s.CreateIdentity(ctx, ann, name, "", nil); err != nil {
				t.Fatal(err)
			}
		}
		for text, want := range map[string]string{"ann": "ann", "be": "bert", "anna": "anna", "x_": "x_z"} {
			kind, id, err := s.Resolve(ctx, text)
			if err != nil || kind != "identity" || id != want {
				t.Errorf("%q is %s %s, %v", text, kind, id, err)
			}
		}
		var ambiguous *Ambiguous
		if _, _, err := s.Resolve(ctx, "a"); !errors.As(err, &ambiguous) || len(ambiguous.Candidates) != 2 {
			t.Errorf("got %v", err)
		}
		for _, text := range []string{"", "zz", "%", "ANN", "_"} {
			if _, _, err := s.Resolve(ctx, text); !errors.Is(err, ErrNotFound) {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}

func TestJobsAreDoneAtLeastOnceAndByOneAtATime(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		err := s.update(ctx, locks{others: []ledger.Scope{testScope}}, "a test", func(tx *Tx) error {
			e, err := tx.append(testScope, "test.written", ledger.Actor{}, nil, nil)
			if err != nil {
				return err
			}
			for _, key := range []string{"a", "b", "a"} {
				if err := tx.enqueue(e, "deliver", key, map[string]string{"to": key}, tx.Now()); err != nil {
					return err
				}
			}
			return tx.enqueue(e, "deliver", "later", nil, tx.Now().Add(time.Hour))
		})
		if err != nil {
			t.Fatal(err)
		}
		claim := func(lease time.Duration) []Job {
			t.Helper()
			jobs, err := s.ClaimJobs(ctx, []string{"deliver"}, 10, lease)
			if err != nil {
				t.Fatal(err)
			}
			return jobs
		}
		if jobs, err := s.ClaimJobs(ctx, []string{"other"}, 10, time.Hour); err != nil || len(jobs) != 0 {
			t.Fatalf("%d jobs of another kind, %v", len(jobs), err)
		}
		jobs := claim(0) // a lease that has ended already, as after a crash
		if len(jobs) != 2 || jobs[0].Scope != testScope || jobs[0].Revision != 1 {
			t.Fatalf("%+v", jobs)
		}
		jobs = claim(time.Hour)
		if len(jobs) != 2 || jobs[0].Tries != 2 {
			t.Fatalf("%+v", jobs)
		}
		if again := claim(time.Hour); len(again) != 0 {
			t.Fatalf("claimed twice: %+v", again)
		}
		if err := s.FinishJob(ctx, jobs[0].ID); err != nil {
			t.Fatal(err)
		}
		if err := s.RetryJob(ctx, jobs[1].ID, 0); err != nil {
			t.Fatal(err)
		}
		if err := s.RetryJob(ctx, jobs[0].ID, 0); err != nil {
			t.Fatal(err)
		}
		if rest := claim(time.Hour); len(rest) != 1 || rest[0].ID != jobs[1].ID {
			t.Fatalf("%+v", rest)
		}
	})
}

func TestOnlyCiphertextIsKept(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		const sealed = armorHeader + "\nx\n-----END AGE ENCRYPTED FILE-----\n"
		if err := s.PutArtifact(ctx, "sha256:1", "machine:\n  token: canary\n", 10, "ann"); err == nil {
			t.Fatal("a plaintext was kept")
		}
		if _, err := s.Artifact(ctx, "sha256:1"); !errors.Is(err, ErrNotFound) {
			t.Fatalf("got %v", err)
		}
		for _, author := range []string{"ann", "bob"} { // the second time changes neither author nor text
			if err := s.PutArtifact(ctx, "sha256:1", sealed+author, 10, author); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Artifact(ctx, "sha256:1")
		if err != nil || got != sealed+"ann" {
			t.Fatalf("%q, %v", got, err)
		}
	})
}
