package cli

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// errTwice is what is said of the second value of a flag that takes one.
var errTwice = errors.New("it is given more than once, and it takes one value")

// once is the value of a flag that may be given one time: of two values the last would win, and nobody would be told
// which of them a change was made with.
type once struct {
	pflag.Value
	given bool
}

// Set implements pflag.Value.
func (o *once) Set(s string) error {
	if o.given {
		return errTwice
	}
	o.given = true
	return o.Value.Set(s)
}

// giveOnce makes every flag of the set that takes one value refuse a second one.
func giveOnce(set *pflag.FlagSet) {
	set.VisitAll(func(f *pflag.Flag) {
		_, many := f.Value.(pflag.SliceValue)
		if _, done := f.Value.(*once); !many && !done {
			f.Value = &once{Value: f.Value}
		}
	})
}

// giveAgain takes that back in a whole tree: for completions, cobra itself parses a command line twice.
func giveAgain(c *cobra.Command) {
	plain := func(f *pflag.Flag) {
		if o, ok := f.Value.(*once); ok {
			f.Value = o.Value
		}
	}
	c.Flags().VisitAll(plain)
	c.PersistentFlags().VisitAll(plain)
	for _, sub := range c.Commands() {
		giveAgain(sub)
	}
}

// neededAnnotation is the key under which a flag says why it has to be given.
const neededAnnotation = "clew/needed"

// needs makes a flag one that has to be given and not empty; message says why.
func needs(c *cobra.Command, flag, message string) {
	// An error here would mean that the flag has another name.
	_ = c.Flags().SetAnnotation(flag, neededAnnotation, []string{message})
}

// checkNeeded says which flag is missing.
func checkNeeded(c *cobra.Command) error {
	var wrong error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if message := f.Annotations[neededAnnotation]; len(message) == 1 && f.Value.String() == "" && wrong == nil {
			wrong = usagef("%s", message[0])
		}
	})
	return wrong
}
