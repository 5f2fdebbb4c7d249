package act_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/clewops/clew/internal/act"
)

// secret is a value that has the shape of nearly everything that may be recorded.
const secret = "zq7zq7zq7"

// anyLine draws a command line of a recogniser: verbs, flags in all their spellings, arguments, and rubbish.
func anyLine(t *rapid.T, r *act.Recogniser) []string {
	command := r.Commands[rapid.IntRange(0, len(r.Commands)-1).Draw(t, "command")]
	flags := slices.Clone(r.Flags)
	flags = append(flags, command.Flags...)
	for _, s := range r.Sets {
		if slices.Contains(command.Use, s.Name) {
			flags = append(flags, s.Flags...)
		}
	}
	var line []string
	for _, w := range command.Words {
		line = append(line, rapid.SampledFrom(strings.Split(w, "|")).Draw(t, "word"))
	}
	for range rapid.IntRange(0, 6).Draw(t, "extras") {
		at := rapid.IntRange(0, len(line)).Draw(t, "at")
		line = slices.Insert(line, at, extra(t, flags)...)
	}
	return line
}

// extra draws a flag, an argument or rubbish.
func extra(t *rapid.T, flags []act.Flag) []string {
	value := rapid.SampledFrom([]string{secret, "-" + secret, secret + "," + secret, "a=" + secret, "", "x", "-"}).Draw(t, "value")
	switch rapid.IntRange(0, 4).Draw(t, "extra") {
	case 0:
		return []string{"--" + rapid.SampledFrom([]string{"strange", secret}).Draw(t, "strange") + rapid.SampledFrom([]string{"", "=" + value}).Draw(t, "eq")}
	case 1:
		return []string{"-" + rapid.StringMatching(`[a-zA-Z0-9]{1,4}`).Draw(t, "bundle")}
	case 2:
		return []string{rapid.SampledFrom([]string{"--", value, "pod/" + secret, secret + ":/x", "\x00", "é", strings.Repeat("x", 5000)}).Draw(t, "argument")}
	default:
		f := flags[rapid.IntRange(0, len(flags)-1).Draw(t, "flag")]
		if f.Short != "" && rapid.Bool().Draw(t, "short") {
			return rapid.SampledFrom([][]string{{"-" + f.Short, value}, {"-" + f.Short + value}, {"-" + f.Short + "=" + value}}).Draw(t, "spelling")
		}
		return rapid.SampledFrom([][]string{{"--" + f.Long, value}, {"--" + f.Long + "=" + value}, {"--" + f.Long}, {"-" + f.Long, value}}).Draw(t, "spelling")
	}
}

// allowed says whether every piece of a record is one that the recogniser allows: words of verbs, names of flags, values
// of flags with a shape, and names of targets.
func allowed(r *act.Recogniser, got act.Recognised) string {
	var known []string
	flags := slices.Clone(r.Flags)
	for _, c := range r.Commands {
		for _, w := range c.Words {
			known = append(known, strings.Split(w, "|")...)
		}
		flags = append(flags, c.Flags...)
	}
	for _, g := range r.Groups {
		for _, w := range g.Words {
			known = append(known, strings.Split(w, "|")...)
		}
		flags = append(flags, g.Flags...)
	}
	for _, s := range r.Sets {
		flags = append(flags, s.Flags...)
	}
	for i, piece := range got.Recorded {
		switch {
		case i == 0 && piece == r.Tool, piece == act.Elided, piece == "--", slices.Contains(known, piece):
			continue
		case strings.HasPrefix(piece, "-"):
			name, value, has := strings.Cut(strings.TrimLeft(piece, "-"), "=")
			if !slices.ContainsFunc(flags, func(f act.Flag) bool {
				return f.Long == name && (!has || f.Arity == act.Switch || f.Shape != act.ShapeNone || strings.Trim(value, act.Elided+",") == "")
			}) {
				return piece
			}
		default:
			// A target's name, with or without its type, or the types alone.
			base := piece[strings.LastIndex(piece, "/")+1:]
			kinds := strings.Split(strings.ToLower(base), ",")
			if !slices.ContainsFunc(got.Targets, func(target act.Target) bool { return target.Name == base || target.Name == piece }) &&
				(len(got.Targets) == 0 || len(kinds) == 0) {
				return piece
			}
		}
	}
	return ""
}

func TestAnyCommandLine(t *testing.T) {
	list := recognisers(t)
	rapid.Check(t, func(t *rapid.T) {
		r := list[rapid.IntRange(0, len(list)-1).Draw(t, "tool")]
		line := anyLine(t, r)
		got := r.Match(line, func(string) string { return "" })
		if piece := allowed(r, got); piece != "" {
			t.Fatalf("%q: the record %q has %q", line, got.Recorded, piece)
		}
		if got.Class == act.Read && len(got.Doubts) > 0 {
			t.Fatalf("%q counts as read in spite of %v", line, got.Doubts)
		}
		if got.Class == act.Unknown && len(got.Doubts) == 0 {
			t.Fatalf("%q is unknown without a reason", line)
		}
		for _, d := range got.Doubts {
			if strings.Contains(string(d), secret) {
				t.Fatalf("a doubt quotes the command line: %s", d)
			}
		}
	})
}

func TestUnknownVerbsAreNeverRead(t *testing.T) {
	list := recognisers(t)
	rapid.Check(t, func(t *rapid.T) {
		r := list[rapid.IntRange(0, len(list)-1).Draw(t, "tool")]
		if slices.ContainsFunc(r.Commands, func(c act.Command) bool { return len(c.Words) == 0 }) {
			return // it has no verbs
		}
		verb := rapid.StringMatching(`zq[a-z]{1,8}`).Draw(t, "verb")
		line := []string{verb}
		for range rapid.IntRange(0, 5).Draw(t, "extras") {
			line = append(line, extra(t, r.Flags)...)
		}
		if got := r.Match(line, func(string) string { return "" }); got.Class != act.Unknown || got.Local {
			t.Fatalf("%q is %s", line, got.Class)
		}
	})
}

// A word that no recogniser knows, put before the verb, must not leave a read a read.
func TestAStrangeFlagIsNeverRead(t *testing.T) {
	list := recognisers(t)
	rapid.Check(t, func(t *rapid.T) {
		r := list[rapid.IntRange(0, len(list)-1).Draw(t, "tool")]
		c := r.Commands[rapid.IntRange(0, len(r.Commands)-1).Draw(t, "command")]
		var line []string
		for _, w := range c.Words {
			line = append(line, rapid.SampledFrom(strings.Split(w, "|")).Draw(t, "word"))
		}
		at := rapid.IntRange(0, len(line)).Draw(t, "at")
		if c.Args.Form == act.ArgsRaw {
			at = 0 // what follows such a verb is not read
		}
		line = slices.Insert(line, at, rapid.SampledFrom([]string{"--zq-strange", "--zq-strange=1"}).Draw(t, "strange"))
		if r.Dialect == act.GoFlag && len(line) == 1 {
			return
		}
		if got := r.Match(line, func(string) string { return "" }); got.Class == act.Read {
			t.Fatalf("%q is read", line)
		}
	})
}

func FuzzMatch(f *testing.F) {
	f.Add("kubectl -n shop get pods -Aw --x=y -- z")
	f.Add("talosctl -n a,b upgrade -i x/y:v1 --wait=false")
	f.Add("terraform -chdir=x apply -target=y")
	list := recognisers(f)
	f.Fuzz(func(t *testing.T, line string) {
		got := act.Match(list, strings.Fields(line), func(string) string { return "x" })
		if got.Class == act.Read && len(got.Doubts) > 0 {
			t.Errorf("%q counts as read in spite of %v", line, got.Doubts)
		}
	})
}

// Control: the properties above see a record that keeps what is not on the list, and a recogniser that calls a strange
// flag a known one.
func TestAnyCommandLineControl(t *testing.T) {
	none := func(string) string { return "" }
	kubectl := act.ShippedFor("kubectl")
	line := words("--token " + secret + " get pods")
	if piece := allowed(kubectl, permissive(*kubectl).Match(line, none)); !strings.Contains(piece, secret) {
		t.Errorf("a kept token was not seen: %q", piece)
	}
	if piece := allowed(kubectl, kubectl.Match(line, none)); piece != "" {
		t.Errorf("%q was seen in what is fine", piece)
	}
	careless := *kubectl
	careless.Flags = append(slices.Clone(careless.Flags), act.Flag{Long: "zq-strange"})
	if got := careless.Match(words("get pods --zq-strange"), none); got.Class != act.Read {
		t.Errorf("a flag that is declared is not what makes the difference: %s", got.Class)
	}
}
