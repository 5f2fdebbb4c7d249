package cli

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // reads a whole database, as somebody with a copy of it would
	"go.yaml.in/yaml/v3"

	"github.com/clewops/clew/internal/config"
)

// Secrets that the tests plant. The canary is none: it stands where secrets must not, so that the search shows that it
// finds what is there.
const (
	plantedPassword = "pl4nted-r3gistry-passw0rd"
	plantedToken    = "pl4nt3.d0t0ken0f0machine"
	plantedTypo     = "pl4nted-behind-a-typo"
	plantedDatabase = "pl4nted-d4tabase-passw0rd"
	canary          = "can4ry-in-a-reason"
)

// secretKeys are the settings of a Talos configuration whose values nobody may see.
var secretKeys = []string{"token", "key", "secret", "aescbcEncryptionSecret", "secretboxEncryptionSecret", "bootstrapToken"}

// secretsOf collects the secret values of a configuration.
func secretsOf(t *testing.T, file string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	docs := yaml.NewDecoder(bytes.NewReader(b))
	for {
		var doc any
		if docs.Decode(&doc) != nil {
			return found
		}
		collect(doc, filepath.Base(filepath.Dir(file)), found)
	}
}

func collect(v any, path string, found map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, child := range v {
			if s, ok := child.(string); ok && len(s) >= 8 {
				for _, secret := range secretKeys {
					if k == secret {
						found[path+"."+k] = s
					}
				}
			}
			collect(child, path+"."+k, found)
		}
	case []any:
		for _, child := range v {
			collect(child, path, found)
		}
	}
}

// forms are the ways in which a secret could be written down.
func forms(secret string) []string {
	out := []string{
		secret, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.RawURLEncoding.EncodeToString([]byte(secret)), strings.Trim(fmt.Sprintf("%q", secret), `"`),
	}
	if raw, err := base64.StdEncoding.DecodeString(secret); err == nil && len(raw) >= 16 {
		out = append(out, string(raw), hex.EncodeToString(raw))
		if lines := strings.Split(strings.TrimSpace(string(raw)), "\n"); len(lines) > 2 {
			out = append(out, lines[1]) // the first line of a PEM block's body
		}
	}
	return out
}

// hits says in which places a secret shows, in any form.
func hits(places map[string][]byte, secret string) []string {
	var where []string
	for place, content := range places {
		for _, form := range forms(secret) {
			if bytes.Contains(content, []byte(form)) {
				where = append(where, place)
				break
			}
		}
	}
	return where
}

// TestNoSecretLeaks plants secrets in what machines run, in what is applied, in what is refused and in the store's URL,
// uses every command, and searches everything that was written or printed.
func TestNoSecretLeaks(t *testing.T) {
	for _, engine := range []config.Engine{config.SQLite, config.Postgres} {
		t.Run(string(engine), func(t *testing.T) { searchForSecrets(t, engine) })
	}
}

func searchForSecrets(t *testing.T, engine config.Engine) {
	h := newHome(t)
	var db config.DatabaseURL
	if engine == config.Postgres {
		db = database(t)
		h.env = append(h.env, "CLEW_STORE="+db.Reveal())
	}
	secrets := map[string]string{
		"registry password": plantedPassword, "machine token": plantedToken, "value behind a typo": plantedTypo, "database password": plantedDatabase,
	}
	if engine == config.Postgres {
		secrets["password of the store"] = passwordOf(t, db.Reveal())
	}
	for _, n := range theLab(t).Nodes() {
		for name, value := range secretsOf(t, filepath.Join(n.Dir(), "platform.yaml")) {
			secrets[name] = value
		}
	}
	if len(secrets) < 12 {
		t.Fatalf("only %d secrets were collected", len(secrets))
	}
	shapes := []string{"table", "json", "yaml"}
	if engine == config.Postgres {
		shapes = shapes[1:2] // what is printed does not depend on the engine; connecting takes its time
	}
	printed := useEverything(t, h, shapes)
	places := printed
	collectFiles(t, h.dir, places)
	if engine == config.Postgres {
		collectDatabase(t, db.Reveal(), places)
	}
	for name, secret := range secrets {
		if where := hits(places, secret); len(where) > 0 {
			t.Errorf("the %s shows in %v", name, where)
		}
	}
	// The controls: the search finds what is there, on the screen and on disk; and the planted secret did go through.
	where := strings.Join(hits(places, canary), " ")
	if !strings.Contains(where, "log -o json") || !strings.Contains(where, map[config.Engine]string{config.SQLite: "store.db", config.Postgres: "table entries"}[engine]) {
		t.Errorf("the search does not find what is there; it found the canary in %q", where)
	}
	searchConfiguration(t, h)
}

// passwordOf is the password in a database's URL.
func passwordOf(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	password, ok := u.User.Password()
	if !ok || len(password) < 8 {
		t.Fatal("the test's database has no password that could leak")
	}
	return password
}

// useEverything runs commands that see, send, refuse and fail over configurations with secrets, and returns what they
// printed.
func useEverything(t *testing.T, h *home, shapes []string) map[string][]byte {
	printed := map[string][]byte{}
	keep := func(r result, args ...string) {
		name := strings.Join(args, " ")
		printed["$ "+name] = append(printed["$ "+name], r.stdout+r.stderr...)
	}
	file := filepath.Join(t.TempDir(), "patch.yaml")
	patch := func(content string) string {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return "@" + file
	}
	imported := []string{"machine", "import", "--talosconfig", theLab(t).Talosconfig(), "-v"}
	keep(h.person(exitDone, imported...), imported...)
	registry := fmt.Sprintf("machine:\n  registries:\n    config:\n      registry.example:\n        auth:\n          username: %s\n          password: %s\n",
		unique("u"), plantedPassword)
	apply := []string{"apply", "-n", "worker-1", "-p", patch(registry), "-v", "-o", "json"}
	keep(h.run(append(apply, "--dry-run")...), "apply --dry-run")
	keep(h.person(exitDone, apply...), apply...)
	for _, bad := range []string{
		"machine:\n  token: " + plantedToken + "\n",
		"machine:\n  tokeen: " + plantedTypo + "\n",
		"machine:\n  kubelet:\n    image: [" + plantedTypo + "]\n",
		"machine: {token: " + plantedTypo + "\n",
		"[{\"op\":\"replace\",\"path\":\"/machine/none\",\"value\":\"" + plantedTypo + "\"}]",
	} {
		for _, form := range shapes {
			r := h.run("apply", "-n", "worker-1", "-p", patch(bad), "-o", form, "-v")
			if r.code == exitDone || r.code == exitNeedsYou {
				t.Errorf("the patch %q was taken: exit %d", bad, r.code)
			}
			keep(r, "apply, refused")
		}
		whole := filepath.Join(t.TempDir(), "whole.yaml")
		if err := os.WriteFile(whole, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		keep(h.run("apply", "-n", "worker-1", "-f", whole, "-v"), "apply -f, refused")
	}
	h.want(exitDone, "machine", "freeze", "worker-2", "--reason", canary)
	plan := decode[[]planView](t, h.want(exitDone, "plan", "list", "--all", "-o", "json"))[0].Plan.ID
	for _, form := range shapes {
		for _, args := range [][]string{
			{},
			{"--all"},
			{"log", "--all", "--limit", "0"},
			{"machine", "list"},
			{"machine", "show", "worker-1"},
			{"machine", "list", "--refresh"},
			{"machine", "diff", "worker-1"},
			{"plan", "list", "--all"},
			{"show", plan},
			{"show", "worker-1"},
			{"whoami"},
			{"verify"},
			{"admin", "identity", "list"},
			{"admin", "checkpoint"},
			{"admin", "export"},
			{"admin", "recovery", "status"},
			{"--store", "postgres://u:" + plantedDatabase + "@127.0.0.1:1/none", "verify"},
			{"--store", "postgres://u:" + plantedDatabase + "@%zz", "verify"},
		} {
			args = append(args, "-o", form, "-v")
			keep(h.run(args...), strings.Replace(strings.Join(args, " "), plantedDatabase, "…", 1))
		}
	}
	keep(h.run("log", "--limit", "0", "-o", "json"), "log -o json")
	keep(h.run("log", "-o", "md"), "log -o md")
	return printed
}

// collectFiles reads every file of the home but the key, which is a secret by itself and opens the configurations.
func collectFiles(t *testing.T, dir string, places map[string][]byte) {
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "artifact.key" {
			return err
		}
		b, err := os.ReadFile(path)
		places["file "+e.Name()] = append(places["file "+e.Name()], b...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// collectDatabase reads every row of every table.
func collectDatabase(t *testing.T, url string, places map[string][]byte) {
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range texts(t, db, `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`) {
		places["table "+table] = []byte(strings.Join(texts(t, db, `SELECT row::text FROM "`+table+`" AS row`), "\n"))
	}
}

func texts(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// searchConfiguration decrypts what was kept: the same search must hit there.
func searchConfiguration(t *testing.T, h *home) {
	t.Helper()
	a := newApp(strings.NewReader(""), io.Discard, io.Discard, h.env)
	newRoot(a)
	defer a.close()
	st, err := a.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := st.Machine(t.Context(), "worker-1")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := a.unseal(t.Context(), st, m.Applied)
	if err != nil {
		t.Fatal(err)
	}
	if len(hits(map[string][]byte{"kept": kept.Reveal()}, plantedPassword)) == 0 {
		t.Error("the planted password is not even in the configuration that was applied: the search proves nothing")
	}
}
