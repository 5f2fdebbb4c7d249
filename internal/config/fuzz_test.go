package config

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzDatabaseURL: a URL reads back as itself, and no way of showing it shows its password.
func FuzzDatabaseURL(f *testing.F) {
	for _, s := range []string{
		"postgres://clew:hunter2hunter2@db:5432/clew", "postgresql://h/d?password=hunter2hunter2&sslmode=require", "postgres://u:p%40ss%2Fw0rd@[::1]/x?sslpassword=a&password=b&password=c",
		"postgres:opaque", "postgres://%zz", "POSTGRES://U:P@H", "postgres://u:@h", "mysql://u:secret@h", "postgres://h/d?pass%77ord=hunter2hunter2", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseDatabaseURL(s)
		if err != nil {
			if err != errURL { //lint:ignore errorlint it quotes nothing because it is always this one
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		again, err := ParseDatabaseURL(u.Reveal())
		if err != nil || again.Reveal() != u.Reveal() || again.String() != u.String() {
			t.Errorf("%q reads as %q, and that as %q, %v", s, u.Reveal(), again.Reveal(), err)
		}
		text, err := json.Marshal(map[string]any{"url": u})
		if err != nil {
			t.Error(err)
		}
		shown := fmt.Sprintf("%s %v %+v %#v %q ", u, u, u, u, u) + string(text)
		for _, secret := range secretsOf(u.Reveal()) {
			if strings.Contains(shown, secret) {
				t.Errorf("%q shows %q: %s", s, secret, shown)
			}
		}
	})
}

// secretsOf are the secrets of a URL that are long enough not to be in its other parts by chance, and are not.
func secretsOf(revealed string) []string {
	u, err := url.Parse(revealed)
	if err != nil {
		return nil
	}
	var out []string
	if p, ok := u.User.Password(); ok {
		out = append(out, p)
	}
	for _, p := range secretParameters {
		out = append(out, u.Query()[p]...)
	}
	open := u.Scheme + u.User.Username() + u.Host + u.Path + u.Opaque + u.Fragment + withheld
	for k, v := range u.Query() {
		if k != "password" && k != "sslpassword" {
			open += k + strings.Join(v, "")
		}
	}
	var kept []string
	for _, s := range out {
		if len(s) >= 8 && !strings.Contains(open, s) && s == url.QueryEscape(s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// FuzzConfigFile: a configuration file is read or refused with its name; what is read holds clean, absolute paths, and a
// second reading gives the same.
func FuzzConfigFile(f *testing.F) {
	for _, s := range []string{
		"", "# nothing\n", "talosconfig: ~/x\nstore:\n  location: sqlite\n  key_file: k\n", "store: {location: postgres://u:hunter2hunter2@h/d}\n", "stores: {}\n",
		"store: [a]\n", "a: &a [*a]\n", "talosconfig: {}\n", "talosconfig: \"a\\u0007b\"\n", "--- {}\n--- {}\n", "store: ~\n", "? [x]\n: y\n", "<<: {talosconfig: x}\n", "\xff", "store: {location: !!binary aGk=}\n",
	} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(dir, fmt.Sprintf("config-%d.yaml", os.Getpid()))
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		env := func(key string) string { return map[string]string{"HOME": dir, EnvConfig: path}[key] }
		c, err := Load(env)
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		for _, p := range []string{c.Talosconfig, c.Store.PasswordFile, c.Store.KeyFile} {
			if p != "" && (!filepath.IsAbs(p) || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f })) {
				t.Errorf("a path reads as %q", p)
			}
		}
		again, err := Load(env)
		if err != nil || again.Talosconfig != c.Talosconfig || again.Store != c.Store {
			t.Errorf("read again: %+v, %v", again, err)
		}
	})
}
