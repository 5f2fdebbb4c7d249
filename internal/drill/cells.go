package drill

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/lab"
)

// Cell is one row on one store over one net.
type Cell struct {
	Row         string        `json:"row"`
	Control     bool          `json:"control,omitempty"`
	Store       config.Engine `json:"store"`
	Net         lab.LinkMode  `json:"net"`
	Expectation string        `json:"expectation"`
	Readings    Readings      `json:"-"`
	Verdict     Verdict       `json:"verdict"`
	Reason      string        `json:"reason,omitempty"` // why it is no "ok"
}

// judge gives the verdict on the readings.
func (c *Cell) judge() {
	e, err := ParseExpectation(c.Expectation)
	if err != nil {
		c.Verdict, c.Reason = Errored, clean(err.Error())
		return
	}
	c.Verdict, c.Reason = e.Judge(c.Readings)
	c.Reason = clean(c.Reason)
}

// Key is the cell's name.
func (c Cell) Key() string { return c.Row + " " + string(c.Store) + " " + string(c.Net) }

// cellHeader begins cells.tsv.
const cellHeader = "row\tstore\tnet\texpectation\treading\tverdict\treason"

func writeCells(w io.Writer, cells []Cell) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, cellHeader)
	for _, c := range cells {
		fmt.Fprintln(out, strings.Join([]string{
			c.Row, string(c.Store), string(c.Net), c.Expectation, c.Readings.String(), string(c.Verdict), c.Reason,
		}, "\t"))
	}
	return out.Flush()
}

// readCells reads what writeCells wrote.
func readCells(r io.Reader) ([]Cell, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() || lines.Text() != cellHeader {
		return nil, fmt.Errorf("cells.tsv does not begin with its header")
	}
	var cells []Cell
	for lines.Scan() {
		f := strings.Split(lines.Text(), "\t")
		if len(f) != 7 {
			return nil, fmt.Errorf("cells.tsv has a line of %d fields", len(f))
		}
		readings, err := ParseReadings(f[4])
		if err != nil {
			return nil, err
		}
		c := Cell{
			Row: f[0], Store: config.Engine(f[1]), Net: lab.LinkMode(f[2]), Expectation: f[3], Readings: readings,
			Verdict: Verdict(f[5]), Reason: f[6],
		}
		row, _ := Lookup(c.Row)
		c.Control = row.Control
		cells = append(cells, c)
	}
	return cells, lines.Err()
}
