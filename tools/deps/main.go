// Command deps lists every module that is linked into the programs, with its version and licence, in docs/deps.txt.
//
// Without flags it checks that the list is what the build says; with -write it writes it. Either way it fails on a
// licence that it does not know or that this project may not link. It is run in the repository's root.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

const listFile = "docs/deps.txt"

func main() {
	write := flag.Bool("write", false, "write "+listFile)
	flag.Parse()
	if err := run(*write); err != nil {
		fmt.Fprintln(os.Stderr, "deps:", err)
		os.Exit(1)
	}
}

func run(write bool) error {
	modules, err := linkedModules()
	if err != nil {
		return err
	}
	text, err := render(modules)
	if err != nil {
		return err
	}
	if write {
		return os.WriteFile(listFile, []byte(text), 0o644)
	}
	have, err := os.ReadFile(listFile)
	if err != nil {
		return err
	}
	if string(have) != text {
		return errors.New(listFile + " is not what the build says: run make deps and look at what changed")
	}
	return nil
}
