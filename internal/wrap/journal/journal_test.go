package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/clewops/clew/internal/act"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// write opens the journal of a session and records the beginning of an act, which it holds.
func write(t *testing.T, dir, key string) *Journal {
	t.Helper()
	j, err := Open(dir, "s")
	if err != nil {
		t.Fatal(err)
	}
	h := j.Hold(Holder{PID: os.Getpid()})
	if h.Lock == 0 {
		t.Fatal("the lock was not taken")
	}
	if err := j.Append(Record{Kind: Begin, Key: key, At: noon, Act: &act.Observed{Tool: "kubectl"}, Holder: &h}, false); err != nil {
		t.Fatal(err)
	}
	return j
}

func end(t *testing.T, j *Journal, key string) {
	t.Helper()
	if err := j.Append(Record{Kind: End, Key: key, At: noon, Exit: &act.Exit{}}, false); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// taker keeps what it is given.
type taker struct{ got []string }

func (k *taker) take(r Record) error {
	k.got = append(k.got, string(r.Kind)+" "+r.Key)
	return nil
}

// deliver delivers and compares.
func (k *taker) deliver(t *testing.T, file string, want ...string) Delivered {
	t.Helper()
	k.got = nil
	d, err := Deliver(file, noon, "boot", k.take)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(k.got, want) {
		t.Errorf("delivered %v, want %v", k.got, want)
	}
	return d
}

func TestEachRecordOnceAndInOrder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	file := File(dir, "s")
	var k taker
	a := write(t, dir, "a")
	if d := k.deliver(t, file, "begin a"); d.Running != 1 {
		t.Errorf("%d acts run", d.Running)
	}
	b := write(t, dir, "b")
	end(t, a, "a")
	k.deliver(t, file, "begin b", "end a")
	k.deliver(t, file)
	end(t, b, "b")
	k.deliver(t, file, "end b")
}

func TestAnActWhoseWrapperIsGoneIsLostOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	var k taker
	a, b := write(t, dir, "a"), write(t, dir, "b")
	k.deliver(t, File(dir, "s"), "begin a", "begin b")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	k.deliver(t, File(dir, "s"), "lost a")
	k.deliver(t, File(dir, "s"))
	end(t, b, "b")
	k.deliver(t, File(dir, "s"), "end b")
}

func TestSynced(t *testing.T) {
	j := write(t, filepath.Join(t.TempDir(), "journal"), "a")
	if err := j.Append(Record{Kind: End, Key: "a", At: noon}, true); err != nil {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if err := j.Append(Record{Kind: End, Key: "a", At: noon}, true); err == nil {
		t.Error("written into a closed file")
	}
}

func TestLostInOneReading(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	var k taker
	if err := write(t, dir, "a").Close(); err != nil {
		t.Fatal(err)
	}
	k.deliver(t, File(dir, "s"), "begin a", "lost a")
}

// TestTornLines cuts a record at every byte: what stands before and after it is read, and it is not.
func TestTornLines(t *testing.T) {
	torn, err := encode(Record{Kind: Begin, Key: "torn", At: noon})
	if err != nil {
		t.Fatal(err)
	}
	for cut := range torn {
		dir := filepath.Join(t.TempDir(), "journal")
		file := File(dir, "s")
		var k taker
		end(t, write(t, dir, "a"), "a")
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(torn[:cut]); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		k.deliver(t, file, "begin a", "end a")
		end(t, write(t, dir, "b"), "b")
		// Without its line end alone a record is whole: the next record's leading one completes it.
		if cut == len(torn)-1 {
			k.deliver(t, file, "begin torn", "begin b", "end b", "lost torn")
			continue
		}
		if d := k.deliver(t, file, "begin b", "end b"); cut > 1 && d.Damaged != 1 {
			t.Errorf("cut at %d: %d damaged lines", cut, d.Damaged)
		}
	}
}

func TestChecksumControl(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	file := File(dir, "s")
	end(t, write(t, dir, "a"), "a")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[20] ^= 1
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	var k taker
	if d := k.deliver(t, file, "end a"); d.Damaged != 1 {
		t.Errorf("%d damaged lines", d.Damaged)
	}
}

func TestARefusedRecordComesAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	file := File(dir, "s")
	end(t, write(t, dir, "a"), "a")
	end(t, write(t, dir, "b"), "b")
	full := errors.New("the ledger is full")
	var k taker
	n := 0
	_, err := Deliver(file, noon, "boot", func(r Record) error {
		if n++; n == 3 {
			return full
		}
		return k.take(r)
	})
	if !errors.Is(err, full) || !slices.Equal(k.got, []string{"begin a", "end a"}) {
		t.Errorf("%v, %v", k.got, err)
	}
	k.deliver(t, file, "begin b", "end b")
}

func TestACutJournalIsSaid(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	file := File(dir, "s")
	var k taker
	end(t, write(t, dir, "a"), "a")
	k.deliver(t, file, "begin a", "end a")
	if err := os.Truncate(file, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := Deliver(file, noon, "boot", k.take); err == nil {
		t.Error("nothing was said")
	}
}

// TestManyWritersAndReaders has writers and readers at work at once: every record is taken exactly once, those of one act
// in their order.
func TestManyWritersAndReaders(t *testing.T) {
	const writers, each = 4, 50
	dir := filepath.Join(t.TempDir(), "journal")
	file := File(dir, "s")
	var mu sync.Mutex
	got := map[string][]Kind{}
	read := func() bool {
		_, err := Deliver(file, noon, "boot", func(r Record) error {
			mu.Lock()
			defer mu.Unlock()
			got[r.Key] = append(got[r.Key], r.Kind)
			return nil
		})
		if err != nil && !errors.Is(err, ErrBusy) && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
		return err == nil
	}
	var work, readers sync.WaitGroup
	done := make(chan struct{})
	for w := range writers {
		work.Go(func() {
			for i := range each {
				key := fmt.Sprintf("%d-%d", w, i)
				end(t, write(t, dir, key), key)
			}
		})
	}
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					read()
				}
			}
		})
	}
	work.Wait()
	close(done)
	readers.Wait()
	if !read() {
		t.Fatal("the last reading did not happen")
	}
	if len(got) != writers*each {
		t.Errorf("%d acts", len(got))
	}
	for key, kinds := range got {
		if !slices.Equal(kinds, []Kind{Begin, End}) {
			t.Errorf("%s: %v", key, kinds)
		}
	}
}

func TestOthersDirectoriesAreNotUsed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, "s"); err == nil {
		t.Error("a directory into which everybody writes was taken")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(link, "s"); err == nil {
		t.Error("a link was followed")
	}
}

func FuzzDecode(f *testing.F) {
	line, err := encode(Record{Kind: Begin, Key: "a", At: noon, Act: &act.Observed{Tool: "kubectl"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line[1 : len(line)-1])
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decode(b); err == nil && r.Key == "" {
			t.Error("a record without a key")
		}
	})
}
