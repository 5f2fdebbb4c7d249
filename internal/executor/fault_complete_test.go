package executor

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clewops/clew/internal/store"
)

// notOnThePath are the transactions that no row has, and why: an operation's life does not pass through them.
var notOnThePath = map[string]string{
	"the creation of the store": "before anything else",
	"the removal of guards":     "controls only",
	"the first identity ":       "before anybody can plan",
	"the identity ":             "who may act, asked anew in each transaction",
	"the roles of ":             "who may act, asked anew in each transaction",
	"the token ":                "who may act, asked anew in each transaction",
	"the claim of jobs":         "deliveries, at least once by their nature",
	"the end of job ":           "deliveries, at least once by their nature",
	"the next try of job ":      "deliveries, at least once by their nature",
	"the anchoring of heads":    "done again by the next process; says nothing new",
	"the end of keeping times":  "retention of what is over",
}

// notSteps are the calls of the executor's interfaces that no row has, and why.
var notSteps = map[string]string{
	"Addrs": "says what is known", "Abort": "closes; nothing answers", "Precheck": "reads; its refusal has a row",
	"Operation": "reads", "OpenOperations": "reads", "InstanceStopped": "reads", "PlanAndMachine": "reads", "Artifact": "reads",
	"Epoch": "reads", "Now": "reads",
}

// stepOf is the row's name of an interface's call.
var stepOf = map[string]string{
	"StartRead": "the start of a read", "RecordRead": "a reading", "FailRead": "a failed read",
	"Commit": "the commitment of ", "Attempt": "an attempt of ", "FindToken": "the look-up of a token", "StillMine": "still mine",
	"RecordResponse": "the response to an attempt of ", "RecordOrphan": "the response to an attempt of ", "LateReject": "a move (late-reject)",
	"RecordNotSent":     "that an attempt was not sent",
	"AccountByEvidence": "an accounting by evidence", "AccountByDecision": "an accounting by decision",
	"Classify": "the classification", "Finish": "the end", "Overdue": "a move (overdue)", "CancelOperation": "the cancellation of op-",
	"TakeOver": "the takeover", "SyncHead": "sync head", "Adopt": "the adoption by ",
	"Dial": "dial", "CannotArrive": "sockets", "Read": "read", "Baseline": "baseline", "Apply": "send",
}

// TestFaultMatrixIsComplete: a step that the code has and the table does not is a step that nobody tried to break.
func TestFaultMatrixIsComplete(t *testing.T) {
	rows := transactionNames
	for _, name := range transactionsIn(t, storeSource(t)) {
		if !hasRow(rows, name) && notOnThePath[name] == "" {
			t.Errorf("the transaction %q of the store has no row in the fault matrix", name)
		}
	}
	for _, call := range interfaceCalls() {
		step, known := stepOf[call]
		if notSteps[call] == "" && (!known || !slices.Contains(rows, step)) {
			t.Errorf("the step %s of the executor has no row in the fault matrix", call)
		}
	}
}

// TestFaultMatrixMissesAStep is the control: a transaction that is new in the code is found missing.
func TestFaultMatrixMissesAStep(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "new.go", `package store
		func (s *Store) a() { s.update(ctx, l, "the sale of "+id, nil); s.change(ctx, op, "a guess", nil) }
		func (s *Store) wrap(ctx, id, what string) { s.update(ctx, l, what, nil) }
		func (s *Store) b() { s.wrap(ctx, id, "the rent of "+id) }`, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := transactionsIn(t, []*ast.File{f})
	if want := []string{"a guess", "the rent of ", "the sale of "}; !slices.Equal(names, want) {
		t.Fatalf("found %q, want %q", names, want)
	}
	for _, name := range names {
		if hasRow(transactionNames, name) {
			t.Errorf("%q counts as a row", name)
		}
	}
}

// hasRow: the row carries the transaction's name, or the name with the kind of id, or of move, that follows.
func hasRow(rows []string, name string) bool {
	return slices.ContainsFunc(rows, func(r string) bool {
		rest, ok := strings.CutPrefix(r, name)
		return ok && (rest == "" || rest == "p-" || rest == " of " || rest == " of op-" || strings.HasSuffix(name, "(") && strings.HasSuffix(r, ")"))
	})
}

func interfaceCalls() []string {
	var out []string
	for _, i := range []reflect.Type{
		reflect.TypeFor[Store](), reflect.TypeFor[Nodes](), reflect.TypeFor[Conn](), reflect.TypeFor[Adopter](),
	} {
		for m := range i.NumMethod() {
			out = append(out, i.Method(m).Name)
		}
	}
	return out
}

func storeSource(t *testing.T) []*ast.File {
	t.Helper()
	_ = store.Config{}.Committing // the seam that recognises transactions by what they say of themselves
	const dir = "../store"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), dir+"/"+e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// transactionsIn are the texts with which transactions say what they write: the argument named what of update and of
// every function that hands its own on.
func transactionsIn(t *testing.T, files []*ast.File) []string {
	t.Helper()
	position := map[string]int{} // function to its argument named what
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				if i := parameter(fn, "what"); i >= 0 {
					position[fn.Name.Name] = i
				}
			}
		}
	}
	position["update"], position["change"] = 2, 2
	var out []string
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fn, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if i, ok := position[fn.Sel.Name]; ok && i < len(call.Args) {
				if text := leftmost(call.Args[i]); text != "" {
					out = append(out, text)
				}
			}
			return true
		})
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// parameter is the place of a parameter, -1 without it.
func parameter(fn *ast.FuncDecl, name string) int {
	i := 0
	for _, field := range fn.Type.Params.List {
		for _, n := range field.Names {
			if n.Name == name {
				return i
			}
			i++
		}
		if len(field.Names) == 0 {
			i++
		}
	}
	return -1
}

// leftmost is the text that an expression begins with, up to its first verb.
func leftmost(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return leftmost(e.X)
	case *ast.CallExpr: // fmt.Sprintf
		if len(e.Args) > 0 {
			return leftmost(e.Args[0])
		}
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err == nil {
			before, _, _ := strings.Cut(text, "%")
			return before
		}
	}
	return ""
}
