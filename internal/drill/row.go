package drill

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
	"github.com/clewops/clew/internal/lab"
)

// Row is one case of the contract. ID, Case, Expect and Script are required.
type Row struct {
	ID     string // "008", "008a": the number and, for variants, a letter
	Case   string
	Expect string // see the package documentation; written before the row ever ran

	// Control says that guards are taken away and that the expectation is the failure which they prevent.
	Control bool
	Without dispatch.Without

	Stores []config.Engine // nil: both
	Nets   []lab.LinkMode  // nil: both kinds of links

	Machines  int  // workers that the row needs; 0 is 1
	OwnLab    bool // a lab for this group alone
	OwnServer bool // a PostgreSQL server for this row alone: it kills it
	Bare      bool // the machines are not imported before the script
	Disk      bool // a small file system for the SQLite store alone, which needs root

	// Needs names what the row needs of a machine that is not the drill's own: see Needs.
	Needs Needs

	// Takes is about how long the row waits; the longest start first.
	Takes time.Duration

	Script func(s *Stage)
}

// Needs says which means of the lab a row uses. A real machine has none of them.
type Needs struct {
	Faults bool // links or a node's knobs
	Crash  bool // a node or the database is paused, killed or restarted
}

// Nets are the kinds of links that a drill can run over.
var Nets = []lab.LinkMode{lab.LinksUserland, lab.LinksNetns}

// Engines are the stores that a drill can run on.
var Engines = []config.Engine{config.SQLite, config.Postgres}

var table = map[string]Row{}

var rowID = regexp.MustCompile(`^\d{3}[a-z]?C?$`)

// register adds a row to the table. A row that cannot be is a mistake of the program and shows at its start.
func register(r Row) {
	r = r.withDefaults()
	if err := r.check(); err != nil {
		panic(fmt.Sprintf("drill row %s: %v", r.ID, err))
	}
	table[r.ID] = r
}

func (r Row) withDefaults() Row {
	if r.Machines == 0 {
		r.Machines = 1
	}
	if r.Stores == nil {
		r.Stores = Engines
	}
	if r.Nets == nil {
		r.Nets = Nets
	}
	return r
}

func (r Row) check() error {
	if !rowID.MatchString(r.ID) {
		return fmt.Errorf("an ID is three digits, a letter for a variant, and C beside a row of the same number that it controls")
	}
	if _, taken := table[r.ID]; taken {
		return fmt.Errorf("registered twice")
	}
	if r.Case == "" || r.Script == nil {
		return fmt.Errorf("a row needs a case and a script")
	}
	if r.Control != (len(r.Without) > 0) {
		return fmt.Errorf("a control takes guards away, and nothing else does")
	}
	for _, g := range r.Without {
		if !slices.Contains(dispatch.Guards(), g) {
			return fmt.Errorf("no guard is called %q", g)
		}
	}
	_, err := ParseExpectation(r.Expect)
	return err
}

// Group is the number that the row shares with its variants.
func (r Row) Group() string { return r.ID[:3] }

// Label is the row as reports show it: a control is marked.
func (r Row) Label() string {
	if r.Control && !strings.HasSuffix(r.ID, "C") {
		return r.ID + " C"
	}
	return r.ID
}

// Rows is the whole table, in order.
func Rows() []Row {
	all := make([]Row, 0, len(table))
	for _, r := range table {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Lookup finds a row by its ID.
func Lookup(id string) (Row, bool) {
	r, ok := table[id]
	return r, ok
}

// Select picks the rows that a list such as "001,007-011,037C" names; "" is all. A number names its variants too. An
// unknown row is an error, and so is a range without any row.
func Select(list string) ([]Row, error) {
	if list == "" {
		return Rows(), nil
	}
	var picked []Row
	for word := range strings.SplitSeq(list, ",") {
		word = strings.ReplaceAll(strings.TrimSpace(word), " ", "")
		from, to, isRange := strings.Cut(word, "-")
		if isRange && (len(from) != 3 || len(to) != 3) {
			return nil, fmt.Errorf("%q is no range of rows; one looks like 007-011", word)
		}
		found := false
		for _, r := range Rows() {
			n := r.Group()
			if r.ID == word || n == word || (isRange && from <= n && n <= to) {
				found = true
				picked = append(picked, r)
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no row %q", word)
		}
	}
	slices.SortFunc(picked, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(picked, func(a, b Row) bool { return a.ID == b.ID }), nil
}
