package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
)

// withheld is what is shown instead of a password.
const withheld = "REDACTED"

// secretParameters are the URL parameters of the database driver that carry a secret.
var secretParameters = []string{"password", "sslpassword"}

// DatabaseURL is a PostgreSQL URL that no formatting, encoding or logging shows with its secrets. Only Reveal does.
//
// The URL sits behind a function: package fmt prints the content of unexported fields without asking their methods,
// and of a function it can print only the address.
type DatabaseURL struct {
	shown string
	url   func() *url.URL
}

// errURL does not quote the URL, nor what the parser says of it: both can contain the password.
var errURL = errors.New("not a valid PostgreSQL URL: it looks like postgres://USER@HOST:PORT/DATABASE, " +
	"and special characters in it are percent-encoded")

// ParseDatabaseURL parses a postgres:// or postgresql:// URL. Its error does not quote the value.
func ParseDatabaseURL(value string) (DatabaseURL, error) {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return DatabaseURL{}, errURL
	}
	if _, err := url.ParseQuery(u.RawQuery); err != nil {
		return DatabaseURL{}, errURL
	}
	return newDatabaseURL(*u), nil
}

func newDatabaseURL(u url.URL) DatabaseURL {
	return DatabaseURL{shown: redact(u), url: func() *url.URL { c := u; return &c }}
}

// redact is the URL with every secret replaced.
func redact(u url.URL) string {
	if _, ok := u.User.Password(); ok {
		u.User = url.UserPassword(u.User.Username(), withheld)
	}
	query := u.Query()
	for _, p := range secretParameters {
		if query.Has(p) {
			query.Set(p, withheld)
		}
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// Reveal is the URL to connect with, secrets included; "" for the zero DatabaseURL.
func (u DatabaseURL) Reveal() string {
	if u.url == nil {
		return ""
	}
	return u.url().String()
}

// WithDatabase is the same server and user with another database.
func (u DatabaseURL) WithDatabase(name string) DatabaseURL {
	c := u.url()
	c.Path, c.RawPath = "/"+name, ""
	return newDatabaseURL(*c)
}

// WithHost is the same user and database through another address, HOST:PORT.
func (u DatabaseURL) WithHost(address string) DatabaseURL {
	c := u.url()
	c.Host = address
	return newDatabaseURL(*c)
}

func (u DatabaseURL) withPassword(password string) DatabaseURL {
	c := u.url()
	c.User = url.UserPassword(c.User.Username(), password)
	return newDatabaseURL(*c)
}

func (u DatabaseURL) hasPassword() bool {
	_, ok := u.url().User.Password()
	return ok || u.url().Query().Has("password")
}

func (u DatabaseURL) hasSecret() bool { return u.hasPassword() || u.url().Query().Has("sslpassword") }

// String is the URL without its secrets.
func (u DatabaseURL) String() string { return u.shown }

// Format shows the URL without its secrets under every verb.
func (u DatabaseURL) Format(f fmt.State, _ rune) { fmt.Fprint(f, u.shown) }

// MarshalText is what JSON, YAML and text encoders write: the URL without its secrets.
func (u DatabaseURL) MarshalText() ([]byte, error) { return []byte(u.shown), nil }

// LogValue is what slog writes: the URL without its secrets.
func (u DatabaseURL) LogValue() slog.Value { return slog.StringValue(u.shown) }
