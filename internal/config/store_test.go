package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestStoreLocationPrecedence(t *testing.T) {
	flag := func(s string) *string { return &s }
	for name, tc := range map[string]struct {
		flag         *string
		env, file    string
		want, source string
	}{
		"default":               {want: "/state/clew/store.db", source: "default"},
		"file":                  {file: "/f.db", want: "/f.db", source: "/etc/clew.yaml"},
		"file, relative":        {file: "f.db", want: "/etc/f.db", source: "/etc/clew.yaml"},
		"environment over file": {env: "/e.db", file: "/f.db", want: "/e.db", source: EnvStore},
		"flag over all":         {flag: flag("/g.db"), env: "/e.db", file: "/f.db", want: "/g.db", source: "--store"},
		"the word sqlite":       {flag: flag("sqlite"), env: "/e.db", want: "/state/clew/store.db", source: "--store"},
		"PostgreSQL":            {flag: flag("postgres://ada@db/clew"), want: "postgres://ada@db/clew", source: "--store"},
	} {
		t.Run(name, func(t *testing.T) {
			c := Config{
				Store: StoreConfig{Location: tc.file}, Dirs: Dirs{State: "/state/clew"}, File: "/etc/clew.yaml",
				env: env(t, map[string]string{EnvStore: tc.env}),
			}
			got, err := c.StoreLocation(tc.flag)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != tc.want || got.Source != tc.source {
				t.Errorf("got %s from %s, want %s from %s", got, got.Source, tc.want, tc.source)
			}
		})
	}
}

func TestStoreLocationRefuses(t *testing.T) {
	for _, value := range []string{
		"", "mysql://db/clew", "http://db", "a\nb", "x\x00y", "postgres://u:p%zz@h/d", "postgres://h:port/d", "postgres://h/d?a=%zz",
	} {
		if l, err := (Config{}).StoreLocation(&value); err == nil {
			t.Errorf("%q was accepted as %v", value, l)
		}
	}
}

// planted is what must not show anywhere.
const planted = "pl4nted-s3cret"

func TestPasswordNeverShows(t *testing.T) {
	for _, value := range []string{
		"postgres://ada:" + planted + "@db:5432/clew?sslmode=require",
		"postgresql://db/clew?user=ada&password=" + planted,
		"postgres://ada@db/clew?sslpassword=" + planted,
	} {
		l, err := (Config{}).StoreLocation(&value)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(l.URL.Reveal(), planted) {
			t.Fatalf("control: Reveal() lost the password of %q", value)
		}
		if !l.InlinePassword {
			t.Errorf("%q: the inline password went unnoticed", value)
		}
		for _, v := range []any{l, l.URL, &l, l.URL.WithDatabase("x")} {
			for how, shown := range everyForm(t, v) {
				if shows(shown) {
					t.Errorf("%s of %T shows the password: %s", how, v, shown)
				}
			}
		}
		if shown := l.String(); !strings.Contains(shown, "@db") && !strings.Contains(shown, "//db") {
			t.Errorf("%s no longer says which host", shown)
		}
	}
}

// TestPlainStringShows is the control of everyForm: each of its forms shows what is not protected.
func TestPlainStringShows(t *testing.T) {
	for how, shown := range everyForm(t, struct{ Location string }{planted}) {
		if !shows(shown) {
			t.Errorf("%s does not show a plain string: %s", how, shown)
		}
	}
}

// shows says whether the planted password is in s, as it is or in hexadecimal.
func shows(s string) bool {
	return strings.Contains(s, planted) || strings.Contains(strings.ToLower(s), fmt.Sprintf("%x", planted))
}

// everyForm formats, encodes and logs v, also as an unexported field of something else.
func everyForm(t *testing.T, v any) map[string]string {
	t.Helper()
	forms := map[string]string{}
	hidden := struct{ inner any }{v}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		forms[verb] = fmt.Sprintf(verb, v)
		forms["inside, "+verb] = fmt.Sprintf(verb, hidden)
	}
	j, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	y, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var text, asJSON bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("x", "v", v)
	slog.New(slog.NewJSONHandler(&asJSON, nil)).Info("x", "v", v)
	forms["json"], forms["yaml"], forms["slog text"], forms["slog json"] = string(j), string(y), text.String(), asJSON.String()
	forms["error"] = fmt.Errorf("open %v: %w", v, errors.New("refused")).Error()
	return forms
}

func TestDatabaseURLVariants(t *testing.T) {
	u, err := ParseDatabaseURL("postgres://ada:pw@db:5432/clew?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	got := u.WithDatabase("a b").WithHost("127.0.0.1:7").Reveal()
	if want := "postgres://ada:pw@127.0.0.1:7/a%20b?sslmode=disable"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if want := "postgres://ada:pw@db:5432/clew?sslmode=disable"; u.Reveal() != want {
		t.Errorf("the original changed to %s", u.Reveal())
	}
}

func TestErrorOfABadURLDoesNotQuoteIt(t *testing.T) {
	for _, value := range []string{
		"postgres://ada:" + planted + "%zz@db/clew",
		"postgres://ada:" + planted + "/x@db/clew", // a slash that should have been encoded: it reads as a port
		"mysql://ada:" + planted + "@db/clew",
		"postgres://db/clew?password=" + planted + "%zz",
	} {
		_, err := (Config{}).StoreLocation(&value)
		if err == nil || strings.Contains(err.Error(), planted) {
			t.Errorf("error %v, want one that does not quote the URL", err)
		}
	}
}

func TestPasswordFromAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pw")
	if err := os.WriteFile(file, []byte(planted+"@/\nsecond line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Config{Store: StoreConfig{Location: "postgres://ada@db/clew", PasswordFile: file}, env: env(t, map[string]string{})}
	l, err := c.StoreLocation(nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "postgres://ada:" + planted + "%40%2F@db/clew"; l.URL.Reveal() != want {
		t.Errorf("Reveal() = %s, want %s", l.URL.Reveal(), want)
	}
	if l.InlinePassword || strings.Contains(l.String(), planted) {
		t.Errorf("location %v, inline %v", l, l.InlinePassword)
	}

	c.Store.PasswordFile = filepath.Join(t.TempDir(), "none")
	if _, err := c.StoreLocation(nil); err == nil {
		t.Error("a missing password file was passed over")
	}
	c.Store = StoreConfig{Location: "postgres://ada:" + planted + "@db/clew"}
	c.File = "/etc/clew.yaml"
	if _, err := c.StoreLocation(nil); err == nil || strings.Contains(err.Error(), planted) {
		t.Errorf("a password in the configuration file: error %v, want one that does not show it", err)
	}
}
