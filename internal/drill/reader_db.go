package drill

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/clewops/clew/internal/config"
	"github.com/clewops/clew/internal/dispatch"
)

// The database's reader is the engine's own shell with SQL of the drill's own. Not one line of the store is used.
//
//go:embed sql/*.sql
var sqlFiles embed.FS

// argument is what a query may be asked about: an id, a name.
var argument = regexp.MustCompile(`^[A-Za-z0-9._:-]+$`)

// readLimit bounds one query.
const readLimit = 30 * time.Second

// Query runs a file of sql/ with its arguments, "name", "value", ... in place of @name@, and returns what it printed:
// name|value lines. Values of one name are joined in their order; none at all is "none" where the file declares the name
// in a line "-- reads: name, name". A name that it declares with an exclamation mark must be there.
func (s *Stage) Query(file string, args ...string) map[string]string {
	found, err := s.query(file, args...)
	s.must(err, "reading the database (%s)", file)
	return found
}

func (s *Stage) query(file string, args ...string) (map[string]string, error) {
	text, err := s.sql(file, args...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, readLimit)
	defer cancel()
	c, err := s.shell(ctx)
	if err != nil {
		return nil, err
	}
	var out, complaints bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(text), &out, &complaints
	if err := c.Run(); err != nil || complaints.Len() > 0 {
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(c.Path), errors.Join(err, ctx.Err()), s.run.hide(clean(complaints.String())))
	}
	return parseRows(text, out.String())
}

// sql fills a file in for the row's engine: @json@ is the type that JSON texts are cast to for the operator ->>.
func (s *Stage) sql(file string, args ...string) (string, error) {
	b, err := sqlFiles.ReadFile("sql/" + file)
	if err != nil {
		return "", err
	}
	jsonType := "TEXT"
	if s.Store == config.Postgres {
		jsonType = "jsonb"
	}
	text := strings.ReplaceAll(string(b), "@json@", jsonType)
	for i := 0; i+1 < len(args); i += 2 {
		if !argument.MatchString(args[i+1]) {
			return "", fmt.Errorf("%q is no argument of a query", args[i+1])
		}
		text = strings.ReplaceAll(text, "@"+args[i]+"@", "'"+args[i+1]+"'")
	}
	if left := regexp.MustCompile(`@\w+@`).FindString(text); left != "" {
		return "", fmt.Errorf("%s wants %s", file, left)
	}
	return text, nil
}

// shell is the engine's own client, reading only. The password travels in the environment.
func (s *Stage) shell(ctx context.Context) (*exec.Cmd, error) {
	if s.Store == config.SQLite {
		c := exec.CommandContext(ctx, "sqlite3", "-readonly", "-batch", "-bail", "-noheader", "-list", "-separator", "|",
			"-cmd", ".timeout 20000", s.place.location.Path)
		c.Env = []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH")}
		return c, nil
	}
	plain, password, err := databaseURL(s.place.location.URL)
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, filepath.Join(s.server.Bin(), "psql"), "-X", "-q", "-A", "-t", "-F", "|", "-v", "ON_ERROR_STOP=1", "-w", plain)
	c.Env = []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "PGPASSWORD=" + password, "PGOPTIONS=-c default_transaction_read_only=on"}
	return c, nil
}

// parseRows reads what a shell printed, by what the query's text declares.
func parseRows(text, out string) (map[string]string, error) {
	found := map[string]string{}
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "|")
		if !ok {
			return nil, fmt.Errorf("the reader printed %q", clean(line))
		}
		if old, again := found[name]; again {
			value = old + ", " + value
		}
		found[name] = value
	}
	declared, _, ok := strings.Cut(text, "\n")
	declared, ok2 := strings.CutPrefix(declared, "-- reads: ")
	if !ok || !ok2 {
		return nil, errors.New("the query does not declare what it reads")
	}
	for name := range strings.SplitSeq(declared, ", ") {
		name, must := strings.CutSuffix(name, "!")
		if _, there := found[name]; there {
			continue
		}
		if must {
			return nil, fmt.Errorf("the reader found no %s", name)
		}
		found[name] = "none"
	}
	return found, nil
}

// planReadings are those of sql/plan.sql, in the order of reports.
var planReadings = []string{
	"plan", "operation", "states", "generation", "attempts", "stale-attempts", "accepted", "responses", "accounted",
	"refused", "revocation", "attempts-after-revocation", "drift",
}

// readPlan asks the database's reader about one plan.
func (s *Stage) readPlan(p *Plan) {
	found := s.Query("plan.sql", "plan", p.ID)
	found["states"] = withoutRepeats(found["states"])
	for _, name := range planReadings {
		value, ok := found[name]
		if !ok {
			s.Fail("plan.sql gave no %s", name)
		}
		s.Set(p.reading(name), value)
	}
}

// reading is the name of a plan's reading.
func (p *Plan) reading(name string) string {
	if p.Name == "" {
		return name
	}
	return p.Name + "." + name
}

func withoutRepeats(list string) string {
	return strings.Join(slices.Compact(strings.Split(list, ", ")), ", ")
}

// Operation is the operation of a plan, as the reader finds it.
func (s *Stage) Operation(p *Plan) string {
	return s.Query("operation.sql", "plan", p.ID)["id"]
}

// State is the state of a plan's operation as the reader finds it now; "none" before the commitment.
func (s *Stage) State(p *Plan) dispatch.State {
	return dispatch.State(s.Query("plan.sql", "plan", p.ID)["operation"])
}
