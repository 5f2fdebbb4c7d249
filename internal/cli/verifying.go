package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/clewops/clew/internal/store"
)

func newVerifyCommand(a *app) *cobra.Command {
	var checkpoint string
	c := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Check the hash chains and invariants of the store, or of an exported bundle",
		Long: `Reads every entry and checks the chains, their heads and anchors, that the tables are what the entries say, and the
invariants of the dispatch contract. FILE is a bundle that clew admin export wrote.

A history that was rewritten consistently, heads and anchors with it, shows only against a checkpoint that was kept
elsewhere: clew admin checkpoint FILE, later clew verify --since-checkpoint FILE.

Exit code: 0 all holds, 5 something does not, 1 it could not be found out.`,
		GroupID: groupServer,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("since-checkpoint") && checkpoint == "" {
				return usagef("--since-checkpoint: no file is named")
			}
			return a.verify(c.Context(), args, checkpoint)
		},
	}
	c.Flags().StringVar(&checkpoint, "since-checkpoint", "", "also compare with a checkpoint that was exported earlier")
	return c
}

func (a *app) verify(ctx context.Context, args []string, checkpoint string) error {
	var o store.VerifyOptions
	if checkpoint != "" {
		f, err := openNamed("checkpoint", checkpoint)
		if err != nil {
			return err
		}
		c, err := store.ReadCheckpoint(f)
		_ = f.Close()
		if err != nil {
			return fmt.Errorf("checkpoint %q: %w", shorten(checkpoint), err)
		}
		o.Checkpoint = &c
	}
	r, err := a.verification(ctx, args, o)
	if err != nil {
		return err
	}
	if err := a.emit(r, func(w io.Writer) error { return a.verifyText(w, r) }); err != nil {
		return err
	}
	if !r.Holds() {
		return exitWith(exitNotHeld)
	}
	return nil
}

func (a *app) verification(ctx context.Context, args []string, o store.VerifyOptions) (store.Report, error) {
	if len(args) == 0 {
		st, err := a.inspect(ctx)
		if err != nil {
			return store.Report{}, err
		}
		return st.Verify(ctx, o)
	}
	f, err := openNamed("bundle", args[0])
	if err != nil {
		return store.Report{}, err
	}
	defer func() { _ = f.Close() }()
	r, err := store.VerifyBundle(f, o)
	if err != nil {
		return r, fmt.Errorf("bundle %q: %w", shorten(args[0]), err)
	}
	return r, nil
}

// inspect opens the store only to look: opening it for use would put back what somebody took out.
func (a *app) inspect(ctx context.Context) (*store.Store, error) {
	a.inspecting = true
	return a.mustExist(ctx)
}

// openNamed opens a regular file that the user named, of whatever size: its reader bounds what it takes.
func openNamed(what, path string) (*os.File, error) {
	if path == "" {
		return nil, usagef("%s: no file is named", what)
	}
	f, err := openRegular(path)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", what, shorten(path), bare(err))
	}
	return f, nil
}

// problemsShown is how many problems appear on screen; JSON has all that were kept.
const problemsShown = 50

func (a *app) verifyText(w io.Writer, r store.Report) error {
	for i, p := range r.Problems {
		if i == problemsShown {
			fmt.Fprintf(w, "… and %d more (-o json shows them)\n", len(r.Problems)-i+int(r.More))
			break
		}
		fmt.Fprintf(w, "%s %s\n", a.paint(styleRed, "BROKEN"), printable(p.String()))
	}
	for _, s := range r.Unjudged {
		fmt.Fprintf(w, "not judged further: %s, because its chain is broken\n", printable(s.String()))
	}
	if r.Holds() {
		fmt.Fprintf(w, "holds: %d entries on %d timelines (%s)\n", r.Entries, r.Scopes, r.Engine)
	} else {
		fmt.Fprintf(w, "%d problems in %d entries on %d timelines (%s)\n", len(r.Problems)+int(r.More), r.Entries, r.Scopes, r.Engine)
	}
	if !r.AnchoredAt.IsZero() {
		fmt.Fprintf(w, "anchored up to %s", showTime(r.AnchoredAt))
		if a.flags.verbose {
			fmt.Fprintf(w, " (installation revision %d)", r.AnchoredRevision)
		}
		fmt.Fprintln(w)
	}
	for _, u := range r.Unanchored {
		fmt.Fprintf(w, "not anchored yet: %s from revision %d on (%d entries)\n", printable(u.Scope.String()), u.From, u.Entries)
	}
	if r.HeadFile != "" && r.HeadFile != "compared" {
		fmt.Fprintf(w, "this host's own memory of the heads: %s\n", printable(r.HeadFile))
	}
	return nil
}

func newCheckpointCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "checkpoint [FILE]",
		Short: "Write where every timeline ends now, to be kept elsewhere",
		Long:  "Writes the heads of all timelines, without FILE to standard output. It holds hashes and names, no content.",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			st, err := a.mustExist(c.Context())
			if err != nil {
				return err
			}
			p, err := st.Checkpoint(c.Context())
			if err != nil {
				return err
			}
			return a.export(args, "checkpoint", p.Write)
		},
	}
}

func newExportCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write the whole ledger as a bundle, which clew verify checks without the store",
		Long:  "Writes every entry, without FILE to standard output. Machine configurations are not in it.",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			st, err := a.mustExist(c.Context())
			if err != nil {
				return err
			}
			return a.export(args, "bundle", func(w io.Writer) error { return st.Export(c.Context(), w) })
		},
	}
}

// export writes to a new file, or to standard output. It never replaces a file: what is exported is evidence.
func (a *app) export(args []string, what string, write func(io.Writer) error) error {
	if len(args) == 0 {
		return write(a.stdout)
	}
	path := args[0]
	if path == "" {
		return usagef("%s: no file is named", what)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		next := "clew admin checkpoint NEW-FILE"
		if what == "bundle" {
			next = "clew admin export NEW-FILE"
		}
		return withNext(fmt.Errorf("%s %q: it exists, and is not replaced: name a new file", what, shorten(path)), "%s", next)
	}
	if err != nil {
		return fmt.Errorf("%s %q: %w", what, shorten(path), bare(err))
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(path)
		return fmt.Errorf("%s %q: %w", what, shorten(path), bare(err))
	}
	a.note("%s written to %s", what, filepath.Clean(path))
	return nil
}
