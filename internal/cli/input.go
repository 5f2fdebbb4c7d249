package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clewops/clew/internal/config"
)

// maxInput is the largest file that a user may hand in, in bytes: far above any machine configuration, far below what
// would hurt to read.
const maxInput = 4 << 20

// maxWord is the longest argument or flag value, in bytes. Inline patches are the longest that make sense.
const maxWord = 64 << 10

// errNotRegular is what is said of a device, a FIFO, a socket or a directory.
var errNotRegular = errors.New("it is not a regular file (use - to read standard input)")

// readInput reads text that the user named: a regular file, or standard input for "-". It looks before it opens and
// opens without waiting, so that a FIFO or a device is an error and never something to wait for. what names the input
// in errors, which never quote its content.
func (a *app) readInput(what, path string) ([]byte, error) {
	var b []byte
	var err error
	switch path {
	case "":
		return nil, usagef("%s: no file is named", what)
	case "-":
		b, err = readAtMost(a.stdin, maxInput)
	default:
		b, err = readRegular(path, maxInput)
	}
	if err == nil {
		err = checkText(b)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", what, shorten(path), bare(err))
	}
	return b, nil
}

// readRegular reads a regular file of at most most bytes; symbolic links are followed.
func readRegular(path string, most int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, tooLarge(most)
	}
	return readAtMost(f, most)
}

// openRegular opens a regular file; symbolic links are followed.
func openRegular(path string) (*os.File, error) {
	f, err := config.OpenRegular(path)
	if errors.Is(err, config.ErrNotRegular) {
		return nil, errNotRegular
	}
	return f, err
}

func readAtMost(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > most {
		return nil, tooLarge(most)
	}
	return b, nil
}

func tooLarge(most int64) error {
	return fmt.Errorf("it is larger than %d MiB, which no machine configuration is", most>>20)
}

// checkText refuses what cannot be YAML text.
func checkText(b []byte) error {
	switch {
	case strings.TrimSpace(string(b)) == "":
		return errors.New("it is empty")
	case !utf8.Valid(b) || strings.ContainsRune(string(b), 0):
		return errors.New("it is not UTF-8 text")
	}
	return nil
}

// bare takes the path off a file error: the caller quotes it, and an unquoted one could hold line breaks.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// shorten makes a user's text fit an error message.
func shorten(s string) string { return cut(s, 120) }

// cut makes s at most most bytes long, at the boundary of a character.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// checkWord refuses an argument or a flag's value that no command takes: not UTF-8, huge, or with control characters,
// which would otherwise reach the ledger and other people's terminals.
func checkWord(what, s string, multiline bool) error {
	if len(s) > maxWord {
		return usagef("%s is %d bytes long; at most %d are taken", what, len(s), maxWord)
	}
	if !utf8.ValidString(s) {
		return usagef("%s is not UTF-8 text: %q", what, shorten(s))
	}
	bad := func(r rune) bool {
		if multiline && (r == '\n' || r == '\t' || r == '\r') {
			return false
		}
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}
	if strings.ContainsFunc(s, bad) {
		return usagef("%s has control characters: %q", what, shorten(s))
	}
	return nil
}

// splitLists splits what a repeatable flag of names was given: each value may be several names with commas between.
// cobra's own list flags read values as CSV, of which they silently drop all but the first line.
func splitLists(values []string) []string {
	var out []string
	for _, v := range values {
		out = append(out, strings.Split(v, ",")...)
	}
	return out
}

// multilineFlags take text of several lines: an inline patch.
var multilineFlags = []string{"patch"}

// checkWords checks every argument and every flag that was given.
func checkWords(c *cobra.Command, args []string) error {
	for i, arg := range args {
		if err := checkWord(fmt.Sprintf("argument %d", i+1), arg, false); err != nil {
			return err
		}
	}
	var wrong error
	c.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			if err := checkWord("--"+f.Name, v, slices.Contains(multilineFlags, f.Name)); err != nil && wrong == nil {
				wrong = err
			}
		}
	})
	return wrong
}
