package drill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// The files of the evidence.
const (
	runFile          = "run.txt"
	expectationsFile = "expectations.tsv"
	cellsFile        = "cells.tsv"
	injectionsFile   = "injections.log"
	leakFile         = "leak-scan.tsv"
	plantedFile      = "planted.txt"
	manifestFile     = "manifest.tsv"
	transcriptsDir   = "transcripts"
	ledgersDir       = "ledgers"
)

// prepareOut makes the directory of the evidence. It refuses one that has something in it, and one inside a work tree by
// its real path: evidence must not end up in a commit, nor change what is built.
func prepareOut(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("evidence needs a directory: --out DIR")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := refuseWorkTree(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty: evidence is never mixed with anything", real)
	}
	for _, sub := range []string{transcriptsDir, ledgersDir} {
		if err := os.Mkdir(filepath.Join(real, sub), 0o700); err != nil {
			return "", err
		}
	}
	return real, nil
}

// refuseWorkTree looks for a work tree around the real path of what exists of dir.
func refuseWorkTree(dir string) error {
	rest := ""
	real, err := filepath.EvalSymlinks(dir)
	for errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = filepath.Dir(dir)
		real, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return err
	}
	for at := real; ; at = filepath.Dir(at) {
		_, err := os.Lstat(filepath.Join(at, ".git"))
		if err == nil {
			return fmt.Errorf("%s lies in the work tree %s: evidence belongs elsewhere, such as a directory under %s",
				filepath.Join(real, rest), at, os.TempDir())
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// eachFile reads every file below dir, in order.
func eachFile(dir string, f func(name string, content []byte) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is no plain file", name)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return f(filepath.ToSlash(name), b)
	})
}

// exportLedger writes a row's ledger into the evidence.
func (r *run) exportLedger(s *Stage) error {
	r.secrets.ofKeyFile(s.keyFile())
	f, err := os.OpenFile(filepath.Join(r.out, ledgersDir, s.name()+".jsonl"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), patience)
	defer cancel()
	return errors.Join(s.ledger.Export(ctx, f), f.Close())
}

func (r *run) writeExpectations(planned []Cell) error {
	var b strings.Builder
	fmt.Fprintln(&b, "row\tstore\tnet\texpectation")
	for _, c := range planned {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\n", c.Row, c.Store, c.Net, c.Expectation)
	}
	return os.WriteFile(filepath.Join(r.out, expectationsFile), []byte(b.String()), 0o600)
}

// wasInterrupted is why announced cells may be missing.
const wasInterrupted = "the run was interrupted"

// finish writes what the run found and seals it.
func (r *run) finish(interrupted bool) (Result, error) {
	r.mu.Lock()
	cells := slices.Clone(r.cells)
	r.mu.Unlock()
	sortCells(cells)
	f, err := os.OpenFile(filepath.Join(r.out, cellsFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return Result{}, err
	}
	if err := errors.Join(writeCells(f, cells), f.Close()); err != nil {
		return Result{}, err
	}
	planted := "This line is planted, so that the search for secrets is seen to find: " + string(r.secrets.control.bytes) + "\n"
	if err := os.WriteFile(filepath.Join(r.out, plantedFile), []byte(planted), 0o600); err != nil {
		return Result{}, err
	}
	res := Result{Out: r.out, Cells: cells}
	res.Missing = missing(cells)
	if res.Interrupted = interrupted; interrupted {
		res.Missing = append(res.Missing, wasInterrupted)
	}
	for _, e := range r.secrets.errs {
		res.Missing = append(res.Missing, "a secret to search for is not known: "+e)
	}
	if err := r.describe(res); err != nil {
		return res, err
	}
	lines, err := r.secrets.scan(r.out)
	if err != nil {
		return res, err
	}
	res.Leaks = judgeLeaks(lines)
	if err := writeLeaks(filepath.Join(r.out, leakFile), lines); err != nil {
		return res, err
	}
	res.Digest, err = seal(r.out)
	return res, err
}

// describe writes run.txt.
func (r *run) describe(res Result) error {
	var b strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&b, "%s: %s\n", name, clean(fmt.Sprint(value))) }
	line("format", "clew drill 1")
	line("version", r.o.Version)
	for _, l := range sources(r.o.Exe) {
		line(l[0], l[1])
	}
	line("platform", runtime.GOOS+"/"+runtime.GOARCH+", "+runtime.Version()+", kernel "+kernel())
	line("began", r.began.UTC().Format(time.RFC3339))
	line("ended", time.Now().UTC().Format(time.RFC3339))
	line("rows", len(r.o.Rows))
	line("stores", join(r.o.Stores))
	line("nets", join(r.o.Nets))
	for _, s := range r.o.Stores {
		line("isolation "+string(s), isolation(s))
	}
	for _, t := range tools(r.pg) {
		line("reader", t)
	}
	line("settle floor", r.o.SettleFloor)
	line("groups at once", r.o.Parallel)
	for _, l := range limits {
		line("limit", l)
	}
	for _, m := range res.Missing {
		line("missing", m)
	}
	evidence := "yes"
	if len(res.Missing) > 0 {
		evidence = "no"
	}
	line("evidence", evidence)
	return os.WriteFile(filepath.Join(r.out, runFile), []byte(b.String()), 0o600)
}

// limits are what no run of the drill shows.
var limits = []string{
	"exactly-once delivery is not claimed, and not shown",
	"a stop between the send guard and the socket is a stated residual of the contract",
	"userland links end TCP on the way: late delivery by the kernel's retransmission shows in network namespaces only",
	"one run gives one value of a time, and no distribution",
	"the nodes are a lab's: they speak the Talos API, and no Kubernetes runs behind them",
}

// seal writes the manifest and returns its own digest.
func seal(dir string) (string, error) {
	var b strings.Builder
	err := eachFile(dir, func(name string, content []byte) error {
		sum := sha256.Sum256(content)
		_, err := fmt.Fprintf(&b, "%s\t%d\t%s\n", hex.EncodeToString(sum[:]), len(content), name)
		return err
	})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:]), os.WriteFile(filepath.Join(dir, manifestFile), []byte(b.String()), 0o600)
}
