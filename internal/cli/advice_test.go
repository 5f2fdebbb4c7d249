package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// advised are the packages that tell a user what to type.
var advised = []string{"cli", "dispatch", "executor", "store", "talos", "lab", "artifact", "config"}

// TestAdviceCanBeTyped reads every piece of advice out of the sources and has the real command tree parse it: the
// command, its flags, the number of its arguments and what has to be given. Nothing of it runs. An advice is what stands
// where one is expected (a remedy, a next, a decision's command), and every other text that begins as a command.
func TestAdviceCanBeTyped(t *testing.T) {
	seen := map[string]bool{}
	for _, pkg := range advised {
		for _, a := range adviceIn(t, filepath.Join("..", pkg)) {
			for line := range strings.Lines(a.text) {
				line = strings.TrimSpace(line)
				if line == "X" { // a whole command, found where it is written
					continue
				}
				seen[line] = true
				if err := typed(filled(line)); err != nil {
					t.Errorf("%s: %q: %v", a.where, line, err)
				}
			}
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d pieces of advice were found", len(seen))
	}
	for _, want := range []string{ // one of each way in which an advice is written
		"clew machine list", "clew settle X", "clew admin recovery enter --reason TEXT", "clew plan create -n X -p PATCH",
		"clew admin recovery attest X --reason TEXT", "clew settle X --judge REASON", "clew approve X", "clew --store FILE",
	} {
		if !seen[want] {
			t.Errorf("%q was not found", want)
		}
	}
}

// TestAdviceThatCannotBeTyped is the control: what used to be advised is told apart.
func TestAdviceThatCannotBeTyped(t *testing.T) {
	for _, wrong := range []string{
		"clew plan rollout open spring (an approver), or wait for a free slot", "clew plan rollout open spring",
		"clew admin recovery enter", "clew admin recovery mark worker-1 ready", "clew admin recovery",
		"clew plan create -n worker-1, for the machine as it is now", "clew plan create -n worker-1",
		"clew plan list --all, clew machine list or clew log show what there is", "clew machine freeze worker-1",
		"clew admin token create", "correct the configuration", "clew machine import again", "clew nothing", "clew settle",
		"clew settle op-1 --judge", "clew dispatch p-1 --nothing", "",
	} {
		if typed(wrong) == nil {
			t.Errorf("%q passes", wrong)
		}
	}
}

// TestTheGuideCanBeTyped: so does every command of the guide.
func TestTheGuideCanBeTyped(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "guide.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("`(clew [^`]*)`").FindAllStringSubmatch(strings.ReplaceAll(string(guide), "\n", " "), -1)
	for block := range strings.SplitSeq(string(guide), "```sh\n") {
		for line := range strings.Lines(block) {
			if line == "```\n" {
				break
			}
			if strings.HasPrefix(line, "clew") {
				line, _, _ = strings.Cut(line, " #")
				commands = append(commands, []string{"", line})
			}
		}
	}
	if len(commands) < 40 {
		t.Errorf("only %d commands were found", len(commands))
	}
	for _, m := range commands {
		command := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(m[1]), "…")) // "…" stands for more of the same
		command = strings.ReplaceAll(command, "COMMAND", "settle")
		words, err := split(command)
		if err != nil {
			t.Errorf("%q: %v", command, err)
			continue
		}
		if c, _, err := tree().Find(words[1:]); err == nil && c.HasSubCommands() && len(words) > 1 {
			continue // a group, spoken of as a whole
		}
		if slices.Contains(spokenOf, command) {
			continue
		}
		if err := typed(command); err != nil {
			t.Errorf("%q: %v", command, err)
		}
	}
}

// spokenOf are commands that the guide names without what they take.
var spokenOf = []string{"clew plan create", "clew approve", "clew plan revoke", "clew plan cancel", "clew admin checkpoint FILE"}

// typed says why a line is no command that works when it is typed, nil when it is one.
func typed(line string) error {
	words, err := split(line)
	if err != nil {
		return err
	}
	if len(words) == 0 || words[0] != "clew" {
		return fmt.Errorf("it does not begin with clew")
	}
	if slices.Equal(words, []string{"clew"}) {
		return nil // the situation
	}
	root := newRoot(newApp(strings.NewReader(""), io.Discard, io.Discard, nil))
	c, rest, err := root.Find(words[1:])
	if err != nil {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		if strings.Contains(err.Error(), "help requested") {
			return nil
		}
		return err
	}
	if help, err := c.Flags().GetBool("help"); err == nil && help {
		return nil
	}
	if c == root && len(c.Flags().Args()) == 0 {
		return nil
	}
	return wellTyped(c)
}

// wellTyped runs what a command checks before its own code.
func wellTyped(c *cobra.Command) error {
	if c.HasSubCommands() {
		return groupOnly(c, c.Flags().Args())
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		return err
	}
	if c.PreRunE != nil {
		if err := c.PreRunE(c, c.Flags().Args()); err != nil {
			return err
		}
	}
	if err := c.ValidateRequiredFlags(); err != nil {
		return err
	}
	return checkNeeded(c)
}

// quotes are the words of a line.
var quotes = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)

// split is how a shell takes a line apart, as far as advice needs it. Punctuation of prose is no part of a word.
func split(line string) ([]string, error) {
	var words []string
	for _, part := range quotes.FindAllString(line, -1) {
		if strings.ContainsAny(part[:1], `"'`) {
			words = append(words, part[1:len(part)-1])
			continue
		}
		if strings.ContainsAny(part, "();|&<>$`\"'") || strings.HasSuffix(part, ",") || strings.HasSuffix(part, ":") {
			return nil, fmt.Errorf("%q is prose, or something to a shell", part)
		}
		words = append(words, part)
	}
	return words, nil
}

// advice is a text that is told to be typed, with X where the program puts in a name.
type advice struct{ where, text string }

// adviceIn gathers the advice of a package.
func adviceIn(t *testing.T, dir string) []advice {
	t.Helper()
	fset := token.NewFileSet()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	g := &gatherer{fset: fset, takes: map[string]int{"refusal.New": 3, "withNext": 1}, found: map[token.Pos]advice{}}
	var trees []*ast.File
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		trees = append(trees, f)
	}
	for _, f := range trees {
		ast.Inspect(f, g.functions)
	}
	for _, f := range trees {
		ast.Inspect(f, g.texts)
	}
	var all []advice
	for _, a := range g.found {
		all = append(all, a)
	}
	return all
}

type gatherer struct {
	fset  *token.FileSet
	takes map[string]int // functions, and which of their arguments is an advice
	found map[token.Pos]advice
}

// named are the names of parameters, fields and functions that hold an advice.
var named = []string{"remedy", "next", "command", "Remedy", "Next"}

// functions finds the functions that hand an advice on.
func (g *gatherer) functions(n ast.Node) bool {
	var name string
	var typ *ast.FuncType
	switch n := n.(type) {
	case *ast.FuncDecl:
		name, typ = n.Name.Name, n.Type
	case *ast.AssignStmt:
		if lit, ok := n.Rhs[0].(*ast.FuncLit); ok {
			if id, ok := n.Lhs[0].(*ast.Ident); ok {
				name, typ = id.Name, lit.Type
			}
		}
	}
	if typ == nil {
		return true
	}
	at := 0
	for _, field := range typ.Params.List {
		for _, p := range field.Names {
			if slices.Contains(named, p.Name) {
				g.takes[name] = at
			}
			at++
		}
	}
	return true
}

// texts finds the texts.
func (g *gatherer) texts(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if at, ok := g.takes[called(n)]; ok && at < len(n.Args) {
			g.add(n.Args[at])
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && slices.Contains(named, key.Name) {
			g.add(n.Value)
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if i >= len(n.Rhs) || !slices.Contains(named, last(left)) {
				continue
			}
			if text, ok := said(n.Rhs[i]); ok && n.Tok == token.ADD_ASSIGN {
				g.found[n.Pos()] = advice{g.fset.Position(n.Pos()).String(), "clew approve X" + text} // what it is added to
				continue
			}
			g.add(n.Rhs[i])
		}
	case *ast.FuncDecl:
		if slices.Contains(named, n.Name.Name) {
			ast.Inspect(n, func(n ast.Node) bool {
				if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 {
					g.add(r.Results[0])
				}
				return true
			})
		}
	case ast.Expr:
		if text, ok := said(n); ok && strings.HasPrefix(text, "clew ") && isCommand(text) {
			g.found[n.Pos()] = advice{g.fset.Position(n.Pos()).String(), text}
			return false
		}
	}
	return true
}

// filled puts a value that the flag takes where the program puts in one.
func filled(line string) string {
	words := strings.Fields(line)
	if len(words) == 0 {
		return line
	}
	c, _, err := tree().Find(words[1:])
	if err != nil {
		return line
	}
	for i, w := range words[:len(words)-1] {
		name, long := strings.CutPrefix(w, "--")
		if f := c.Flags().Lookup(name); long && f != nil && words[i+1] == "X" {
			words[i+1] = sample(f)[1:]
		}
	}
	return strings.Join(words, " ")
}

// isCommand says whether a text that begins as a command goes on with one of its words.
func isCommand(text string) bool {
	words := strings.Fields(text)
	return len(words) > 1 && text != "clew lab X is for the lab itself" &&
		slices.ContainsFunc(tree().Commands(), func(c *cobra.Command) bool { return c.Name() == words[1] })
}

// add keeps an expression that is an advice. What is only handed on is found where it is written.
func (g *gatherer) add(e ast.Expr) {
	if text, ok := said(e); ok && text != "" && strings.Trim(text, "X\n ") != "" {
		g.found[e.Pos()] = advice{g.fset.Position(e.Pos()).String(), text}
	}
}

// called is the name of what is called.
func called(c *ast.CallExpr) string {
	if s, ok := c.Fun.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name + "." + s.Sel.Name
		}
	}
	return last(c.Fun)
}

// last is the last name of an expression.
func last(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// verbs are what a format leaves open.
var verbs = regexp.MustCompile(`%[-+#0-9.]*[a-zA-Z]`)

// said is a text as the program would say it, with X for what it puts in; ok is false for what has no text of its own.
func said(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		s, err := strconv.Unquote(e.Value)
		return verbs.ReplaceAllString(s, "X"), err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, lok := said(e.X)
		right, rok := said(e.Y)
		if !lok && !rok {
			return "", false
		}
		if !lok {
			left = "X"
		}
		if !rok {
			right = "X"
		}
		return left + right, true
	case *ast.ParenExpr:
		return said(e.X)
	case *ast.CallExpr:
		if called(e) == "fmt.Sprintf" && len(e.Args) > 0 {
			return said(e.Args[0])
		}
		if called(e) == "o.command" { // found where it is written; here something is added to it
			return "clew apply -n X --revert", true
		}
	}
	return "", false
}
