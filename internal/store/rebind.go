package store

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

const lockClause = " FOR UPDATE"

// rebind turns the one SQL text into SQLite's: $N becomes ?N, which binds by number and not by appearance, and the lock
// clause goes, because a write transaction already excludes every other. Quoted text stays as it is.
func rebind(query string) string {
	var b strings.Builder
	b.Grow(len(query))
	quoted := false
	for i := 0; i < len(query); i++ {
		switch c := query[i]; {
		case c == '\'':
			quoted = !quoted
			b.WriteByte(c)
		case quoted:
			b.WriteByte(c)
		case c == '$' && i+1 < len(query) && query[i+1] >= '0' && query[i+1] <= '9':
			b.WriteByte('?')
		case strings.HasPrefix(query[i:], lockClause):
			i += len(lockClause) - 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// bind turns arguments into the two types that columns have, so that both drivers see the same.
func bind(args []any) ([]any, error) {
	out := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case string, int64:
			out[i] = v
			continue
		case time.Time:
			out[i] = micros(v)
			continue
		case jsonArgument:
			text, err := v.text()
			if err != nil {
				return nil, err
			}
			out[i] = text
			continue
		case fmt.Stringer: // a Hash, for one: its text is what the column holds
			if reflect.ValueOf(a).Kind() == reflect.Array {
				out[i] = v.String()
				continue
			}
		}
		switch v := reflect.ValueOf(a); {
		case v.Kind() == reflect.String:
			out[i] = v.String()
		case v.Kind() == reflect.Bool:
			out[i] = int64(0)
			if v.Bool() {
				out[i] = int64(1)
			}
		case v.CanInt():
			out[i] = v.Int()
		default:
			return nil, fmt.Errorf("store: argument %d has type %T, which no column holds", i+1, a)
		}
	}
	return out, nil
}
