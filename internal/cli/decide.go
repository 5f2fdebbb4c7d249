package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/clewops/clew/internal/refusal"
)

// decision is something that only a person may do, and has to do knowingly.
type decision struct {
	what    string // "approve p-4fz", for messages
	word    string // what has to be typed
	command string // what a person types in a terminal of their own
}

// mayAsk refuses where nobody can be asked: in the environment of a known agent, or without a terminal. Commands call
// it before they do any work that the answer would make useless.
func (a *app) mayAsk(d decision) error {
	if name, variable := a.agent(); name != "" {
		return refusal.New("decision", "agent",
			fmt.Sprintf("this is the environment of %s (%s is set), and to %s is a person's decision, in a terminal of their own", name, variable, d.what), d.command)
	}
	if !isTerminal(a.stdin) {
		return refusal.New("decision", "no-terminal",
			fmt.Sprintf("to %s, a person has to type a confirmation, and standard input is no terminal", d.what), d.command)
	}
	return nil
}

// decide asks a person to type d.word. Anything else is a no, and a refusal: nothing was changed.
func (a *app) decide(ctx context.Context, d decision) error {
	if err := a.mayAsk(d); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "To %s, type %s: ", printable(d.what), printable(d.word))
	line, err := a.readLine(ctx)
	if err != nil {
		fmt.Fprintln(a.stderr)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("reading the confirmation: %w", err)
	}
	if strings.TrimSpace(line) != d.word {
		return refusal.New("decision", "not-confirmed", fmt.Sprintf("%q was not typed, so nothing was decided", d.word), d.command)
	}
	return nil
}

// maxLine is the longest line taken as an answer.
const maxLine = 4096

// readLine reads one line from the terminal, or ends with the context: a person who changes their mind presses Ctrl-C.
func (a *app) readLine(ctx context.Context) (string, error) {
	type answer struct {
		line string
		err  error
	}
	if a.wired.lines == nil {
		a.wired.lines = bufio.NewReader(io.LimitReader(a.stdin, maxLine*64))
	}
	got := make(chan answer, 1)
	go func() {
		line, err := a.wired.lines.ReadString('\n')
		if errors.Is(err, io.EOF) && line != "" {
			err = nil
		}
		got <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-got:
		return r.line, r.err
	}
}
