package drill

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/secret"
)

func init() {
	only := []config.Engine{config.SQLite}
	register(Row{
		ID: "051a", Stores: only, Disk: true, Needs: Needs{Crash: true},
		Case: "the disk is full: nothing that was acknowledged is lost, other work fails and says so, and the answer in hand is recorded " +
			"when there is room again",
		Expect: "acknowledged>=3; lost=0; b.exit=1|4; b-says=full; responses-while-full=none; operation=completed; " +
			"states=committed, sending, verifying, completed; attempts=1; accepted=1; landings=1; answered=OK 1; runs=planned; a.exit=0; later.exit=0",
		Script: diskFull,
	})
	register(Row{
		ID: "051b", Stores: only, Disk: true, Needs: Needs{Crash: true},
		Case: "the file system is read-only: it is said so, nothing is sent, and the plan goes when it is writable again",
		Expect: "a.exit=1; a-says=read-only; landings-then=0; operation=completed; attempts=1; refused=none; landings=1; answered=OK 1; " +
			"runs=planned; b.exit=0",
		Script: func(s *Stage) {
			p := s.Plan("")
			s.closeLedger()
			writable := s.ReadOnlyDisk()
			a := s.Dispatch("a", p)
			a.Ends()
			s.Set("a-says", a.says("read-only"))
			s.Set("landings-then", s.Landings(p.Machine, nil))
			writable()
			s.reopenLedger()
			s.Dispatch("b", p).Ends()
		},
	})
	register(Row{
		ID: "051c", Stores: only, Needs: Needs{Crash: true},
		Case: "a page of the file is corrupted: it is detected and named, nothing further is written or sent, and the plan goes after the " +
			"page is restored",
		Expect: "a.exit=1; a-says=damaged; a-names=store.db; b.exit=1; b-says=damaged; landings-then=0; more-entries=0; more-ends=0; " +
			"operation=completed; attempts=1; landings=1; runs=planned; c.exit=0",
		Script: corruptedPage,
	})
}

// says is the word where the process said it, and "nothing of it" where it did not: whether an error is clear is in its words.
func (p *Process) says(word string) string {
	if strings.Contains(p.output.String(), word) {
		return word
	}
	return "nothing of it"
}

// diskFull fills the disk while an executor has the node's answer in hand, and has this process write until that fails. A
// full disk that a COMMIT reports leaves open whether it took effect (exit code 4), one that is met earlier does not.
func diskFull(s *Stage) {
	p := s.Plan("")
	a := s.Dispatch("a", p, GateResponse)
	a.Reaches(GateResponse)
	before := s.count("artifacts")
	acknowledged := 0
	for ; acknowledged < 3; acknowledged++ {
		s.must(s.putConfiguration(), "keeping a configuration")
	}
	free := s.FillDisk()
	for acknowledged < 1000 && s.putConfiguration() == nil {
		acknowledged++
	}
	s.Set("acknowledged", acknowledged)
	freeze := []string{"machine", "freeze", p.Machine.Name(), "--reason", "the drill does"}
	b := s.Clew("b", nil, freeze)
	b.Ends()
	s.Set("b-says", b.says("full"))
	a.Opens(GateResponse)
	s.Until("the executor has tried to record", func() bool { return a.says("the store is away") != "nothing of it" })
	s.Set("responses-while-full", s.Query("plan.sql", "plan", p.ID)["responses"])
	free()
	a.Ends()
	s.Set("lost", max(0, before+acknowledged-s.count("artifacts")))
	s.Clew("later", nil, freeze).Ends()
}

// putConfiguration keeps a large configuration, encrypted as every one is. It is of random bytes: they cannot be made smaller.
func (s *Stage) putConfiguration() error {
	config := make([]byte, 64<<10)
	_, err := rand.Read(config)
	s.must(err, "making a configuration")
	armored, err := s.keeper().Seal(secret.Of(config))
	s.must(err, "encrypting a configuration")
	return s.ledger.PutArtifact(s.ctx, dispatch.Digest(config), armored, len(config), founder)
}

// count is one of the counts that planning writes.
func (s *Stage) count(what string) int {
	n, err := strconv.Atoi(s.Query("written.sql")[what])
	s.must(err, "counting %s", what)
	return n
}

// corruptedPage overwrites the first page of the table of plans, and later puts it back.
func corruptedPage(s *Stage) {
	p := s.Plan("")
	before := s.Query("page.sql", "table", "plans")
	s.closeLedger()
	s.sqlite("PRAGMA wal_checkpoint(TRUNCATE);")
	found := s.Query("page.sql", "table", "plans")
	page, err := strconv.ParseInt(found["page"], 10, 64)
	s.must(err, "finding a page")
	size, err := strconv.ParseInt(found["size"], 10, 64)
	s.must(err, "finding a page")
	was := s.overwritePage((page-1)*size, bytes.Repeat([]byte{0xa5}, int(size)))
	for _, name := range []string{"a", "b"} {
		e := s.Dispatch(name, p)
		e.Ends()
		s.Set(name+"-says", e.says("damaged"))
		if name == "a" {
			s.Set("a-names", e.says("store.db"))
		}
	}
	s.Set("landings-then", s.Landings(p.Machine, nil))
	s.sqlite("PRAGMA wal_checkpoint(TRUNCATE);")
	s.overwritePage((page-1)*size, was)
	after := s.Query("page.sql", "table", "plans")
	for _, name := range []string{"entries", "ends"} {
		s.Set("more-"+name, less(after[name], before[name]))
	}
	s.reopenLedger()
	s.Dispatch("c", p).Ends()
}

// less is the difference of two counts, or why there is none.
func less(a, b string) string {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	if errX != nil || errY != nil {
		return a + " after " + b
	}
	return strconv.Itoa(x - y)
}

// sqlite runs orders on the row's file with the engine's own shell. No reader uses it.
func (s *Stage) sqlite(orders string) {
	c := exec.CommandContext(s.ctx, "sqlite3", "-batch", "-bail", "-cmd", ".timeout 20000", s.place.location.Path)
	c.Env = []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH")}
	c.Stdin = strings.NewReader(orders)
	out, err := c.CombinedOutput()
	s.must(err, "sqlite3: %s", s.run.hide(clean(string(out))))
}

// overwritePage writes into the store's file, as nothing but a failing disk does, and returns what was there.
func (s *Stage) overwritePage(at int64, with []byte) []byte {
	sum := sha256.Sum256(with)
	done := s.inject("store", "overwrite", strconv.FormatInt(at, 10)+" sha256 "+hex.EncodeToString(sum[:]))
	f, err := os.OpenFile(s.place.location.Path, os.O_RDWR, 0)
	s.must(err, "opening the store's file")
	was := make([]byte, len(with))
	_, err = f.ReadAt(was, at)
	s.must(err, "reading a page")
	_, err = f.WriteAt(with, at)
	s.must(err, "overwriting a page")
	s.must(f.Close(), "overwriting a page")
	done("")
	return was
}
