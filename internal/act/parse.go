package act

import (
	"slices"
	"strings"
)

// token is one word of a command line with what the parser made of it.
type token struct {
	text    string
	command bool // part of the verb
}

// given is a flag as it was given.
type given struct {
	flag   *Flag
	values []string // none for a switch without a value
}

// parsed is a command line taken apart.
type parsed struct {
	path     []string // the verb, as typed
	command  *Command // nil: not known
	flags    []given
	args     []string // positional arguments up to --
	rest     []string // arguments after --
	doubts   []Doubt
	recorded []recordPart
}

// Doubt is a reason why a command line is not fully understood. It never quotes the command line.
type Doubt string

// Doubts.
const (
	DoubtTool        Doubt = "no recogniser knows this program"
	DoubtVerb        Doubt = "the recogniser does not know this verb"
	DoubtFlag        Doubt = "a flag that the recogniser does not know"
	DoubtValue       Doubt = "a flag that needs a value has none"
	DoubtArguments   Doubt = "more arguments than the verb takes"
	DoubtOrder       Doubt = "flags after the first argument"
	DoubtEnvironment Doubt = "an environment variable changes what the command line means"
	DoubtClass       Doubt = "this verb can do anything"
)

// recordPart is a piece of the record: text that may be kept, or the positional argument with a number, which is kept
// only if it turns out to name a target.
type recordPart struct {
	text  string
	arg   int  // -1: text
	named bool // it was an argument that names a target
}

// parser walks one command line.
type parser struct {
	r      *Recogniser
	tokens []token
	lists  [][]Flag
	out    parsed
}

// parse takes a command line apart, as the tool would.
func (r *Recogniser) parse(argv []string) parsed {
	p := &parser{r: r, tokens: make([]token, 0, len(argv))}
	for _, a := range argv {
		p.tokens = append(p.tokens, token{text: a})
	}
	p.descend()
	p.out.command = r.command(p.out.path)
	p.lists = r.flagLists(p.out.path, p.out.command)
	if p.out.command == nil {
		p.doubt(DoubtVerb)
	}
	p.walk()
	return p.out
}

func (p *parser) doubt(d Doubt) {
	if !slices.Contains(p.out.doubts, d) {
		p.out.doubts = append(p.out.doubts, d)
	}
}

// descend finds the verb: the words that lead from command to command, with the flags between them skipped in the way
// in which the tools' library skips them. A flag that it does not know, without =, takes the next word with it.
func (p *parser) descend() {
	for {
		p.lists = p.r.flagLists(p.out.path, p.r.command(p.out.path))
		i := p.nextWord()
		if i < 0 || !p.r.goesOn(append(slices.Clone(p.out.path), p.tokens[i].text)) {
			return
		}
		p.tokens[i].command = true
		p.out.path = append(p.out.path, p.tokens[i].text)
	}
}

// nextWord is the index of the first word that is neither a flag nor a flag's value nor part of the verb.
func (p *parser) nextWord() int {
	for i := 0; i < len(p.tokens); i++ {
		t := p.tokens[i]
		switch {
		case t.command:
		case t.text == "--":
			return -1
		case p.isFlag(t.text):
			if p.takesNext(t.text) {
				i++
			}
		case t.text != "":
			return i
		}
	}
	return -1
}

func (p *parser) isFlag(s string) bool { return len(s) > 1 && s[0] == '-' }

// takesNext says whether a flag's value is the next word, as far as that can be told before the verb is known.
func (p *parser) takesNext(s string) bool {
	if strings.Contains(s, "=") {
		return false
	}
	var f *Flag
	switch {
	case p.r.Dialect == GoFlag:
		f = p.long(strings.TrimLeft(s, "-"))
	case strings.HasPrefix(s, "--"):
		f = p.long(s[2:])
	case len(s) == 2:
		f = p.short(s[1:])
	default:
		return false
	}
	return f == nil || f.Arity == Value
}

func (p *parser) long(name string) *Flag {
	for _, list := range p.lists {
		for i := range list {
			if list[i].Long == name {
				return &list[i]
			}
		}
	}
	return nil
}

func (p *parser) short(letter string) *Flag {
	for _, list := range p.lists {
		for i := range list {
			if list[i].Short == letter && letter != "" {
				return &list[i]
			}
		}
	}
	return nil
}

// walk reads every word, now that the verb and so all flags are known.
func (p *parser) walk() {
	for _, w := range p.out.path {
		p.text(w)
	}
	raw := len(p.tokens)
	if c := p.out.command; c != nil && c.Args.Form == ArgsRaw {
		for raw > 0 && !p.tokens[raw-1].command {
			raw--
		}
		defer p.text(Elided)
	}
	for i := 0; i < raw; {
		t := p.tokens[i]
		switch {
		case t.command:
			i++
		case t.text == "--":
			p.afterDashes(i + 1)
			return
		case p.isFlag(t.text) && p.r.Dialect == GoFlag:
			if len(p.out.args) > 0 {
				p.doubt(DoubtOrder)
			}
			i = p.longFlag(i, strings.TrimLeft(t.text, "-"))
		case strings.HasPrefix(t.text, "--"):
			i = p.longFlag(i, t.text[2:])
		case p.isFlag(t.text):
			i = p.shortFlags(i, t.text[1:])
		default:
			p.argument(t.text)
			i++
		}
	}
}

// afterDashes reads what follows --. It is a program's command line, or arguments that could be taken for flags.
func (p *parser) afterDashes(i int) {
	arguments := false
	if c := p.out.command; c != nil {
		arguments = c.Args.Form == ArgsResources || c.Args.Form == ArgsPairs || c.Args.Form == ArgsNames
	}
	for ; i < len(p.tokens); i++ {
		if arguments {
			p.argument(p.tokens[i].text)
			continue
		}
		if !p.tokens[i].command {
			p.out.rest = append(p.out.rest, p.tokens[i].text)
		}
	}
	if len(p.out.rest) > 0 {
		if c := p.out.command; c != nil && c.Args.Rest >= 0 {
			p.doubt(DoubtArguments)
		}
		p.text("--")
		p.text(Elided)
	}
}

func (p *parser) argument(s string) {
	p.out.recorded = append(p.out.recorded, recordPart{arg: len(p.out.args)})
	p.out.args = append(p.out.args, s)
}

func (p *parser) text(s string) {
	p.out.recorded = append(p.out.recorded, recordPart{text: s, arg: -1})
}

// longFlag reads --name, --name=value or --name value at i and returns the index after it.
func (p *parser) longFlag(i int, text string) int {
	name, value, attached := strings.Cut(text, "=")
	f := p.long(name)
	if f == nil {
		return p.strangeFlag(i, attached)
	}
	if attached {
		p.give(f, value)
		return i + 1
	}
	return p.giveNext(f, i)
}

// shortFlags reads -a, -abc, -nVALUE, -n=VALUE or -n VALUE at i and returns the index after it.
func (p *parser) shortFlags(i int, letters string) int {
	for letters != "" {
		f := p.short(letters[:1])
		if f == nil {
			return p.strangeFlag(i, len(letters) > 1)
		}
		letters = letters[1:]
		if len(letters) > 1 && letters[0] == '=' {
			p.give(f, letters[1:])
			return i + 1
		}
		if f.Arity == Switch || f.Arity == Optional {
			p.give(f)
			continue
		}
		if letters != "" {
			p.give(f, letters)
			return i + 1
		}
		return p.giveNext(f, i)
	}
	return i + 1
}

// strangeFlag passes a flag that is not known. Whether the next word is its value cannot be told: it counts as neither
// an argument nor anything that may be recorded.
func (p *parser) strangeFlag(i int, attached bool) int {
	p.doubt(DoubtFlag)
	p.text(Elided)
	next := i + 1
	if !attached && next < len(p.tokens) && !p.tokens[next].command && !p.isFlag(p.tokens[next].text) {
		next++
	}
	return next
}

// giveNext gives a flag the words that follow it, as many as it takes.
func (p *parser) giveNext(f *Flag, i int) int {
	i++
	switch f.Arity {
	case Switch, Optional:
		p.give(f)
	case Value:
		if i >= len(p.tokens) {
			p.doubt(DoubtValue)
			p.give(f)
			return i
		}
		p.give(f, p.tokens[i].text)
		i++
	case Many:
		var values []string
		for i < len(p.tokens) && !p.isFlag(p.tokens[i].text) {
			values = append(values, p.tokens[i].text)
			i++
		}
		p.give(f, values...)
	}
	return i
}

// give notes a flag with its values, and what of them may be recorded.
func (p *parser) give(f *Flag, values ...string) {
	p.out.flags = append(p.out.flags, given{flag: f, values: values})
	name := "--" + f.Long
	if p.r.Dialect == GoFlag {
		name = "-" + f.Long
	}
	if len(values) == 0 {
		p.text(name)
		return
	}
	shape := f.Shape
	if f.Arity == Switch {
		shape = ShapeBool
	}
	kept := make([]string, len(values))
	for i, v := range values {
		kept[i] = Elided
		if k, ok := recordable(shape, f.Enum, v); ok {
			kept[i] = k
		}
	}
	p.text(name + "=" + strings.Join(kept, ","))
}
