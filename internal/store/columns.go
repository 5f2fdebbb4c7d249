package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// micros is how a column holds a time: microseconds since 1970 UTC, 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// jsonArgument is a record on its way into a column.
type jsonArgument struct{ of any }

// asJSON makes an argument of a record. Nil pointers, maps and slices become "", and intoJSON reads that back as it was.
func asJSON(v any) jsonArgument { return jsonArgument{v} }

func (a jsonArgument) text() (string, error) {
	b, err := compact(a.of)
	if err != nil || string(b) == "null" {
		return "", err
	}
	return string(b), nil
}

// compact is JSON without HTML escapes and without spaces: the bytes that entries are hashed over.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("store: encode %T: %w", v, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

type timeColumn struct{ to *time.Time }

func (c timeColumn) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return fmt.Errorf("store: a time column holds %T", src)
	}
	*c.to = fromMicros(n)
	return nil
}

type boolColumn struct{ to *bool }

func (c boolColumn) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return fmt.Errorf("store: a boolean column holds %T", src)
	}
	*c.to = n != 0
	return nil
}

type jsonColumn struct{ to any }

func (c jsonColumn) Scan(src any) error {
	var b []byte
	switch v := src.(type) {
	case string:
		b = []byte(v)
	case []byte:
		b = v
	default:
		return fmt.Errorf("store: a JSON column holds %T", src)
	}
	if len(b) == 0 {
		return nil
	}
	return json.Unmarshal(b, c.to)
}

// intoTime scans a time column.
func intoTime(t *time.Time) timeColumn { return timeColumn{t} }

// intoBool scans a boolean column.
func intoBool(b *bool) boolColumn { return boolColumn{b} }

// intoJSON scans a JSON column into what v points to; an empty column leaves it alone.
func intoJSON(v any) jsonColumn { return jsonColumn{v} }
