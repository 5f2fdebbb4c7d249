package dispatch

import (
	"bytes"
	"encoding/json"
)

// bodyReader reads bodies. Most entries of a store begin or record readings, and most readings show what the one before
// showed: the two newest are kept (a read that begins shows nothing), and not decoded again.
type bodyReader struct {
	newest, older decodedReading
}

type decodedReading struct {
	raw     []byte
	reading Reading
}

// observationFirst is how the body of an entry that records a reading begins.
var observationFirst = []byte(`{"observation":`)

// body is the body that the JSON holds, with the bytes that its observation has there, nil without one.
func (r *bodyReader) body(raw []byte) (Body, []byte, error) {
	if len(raw) == 0 {
		return Body{}, nil, nil
	}
	var b struct {
		Body
		Observation *struct {
			Observation
			Reading json.RawMessage `json:"reading"`
		} `json:"observation"`
	}
	if err := json.Unmarshal(raw, &b); err != nil || b.Observation == nil {
		return b.Body, nil, err
	}
	o := &b.Observation.Observation
	b.Body.Observation = o
	if err := r.decode(b.Observation.Reading, &o.Reading); err != nil {
		return b.Body, nil, err
	}
	if rest, ok := bytes.CutPrefix(raw, observationFirst); ok {
		return b.Body, rest[:objectEnd(rest)], nil
	}
	var part struct {
		Observation json.RawMessage `json:"observation"`
	}
	err := json.Unmarshal(raw, &part)
	return b.Body, part.Observation, err
}

func (r *bodyReader) decode(raw json.RawMessage, to *Reading) error {
	if len(raw) == 0 {
		return nil
	}
	if !bytes.Equal(raw, r.newest.raw) {
		r.newest, r.older = r.older, r.newest
	}
	if !bytes.Equal(raw, r.newest.raw) {
		r.newest = decodedReading{}
		if err := json.Unmarshal(raw, &r.newest.reading); err != nil {
			return err
		}
		r.newest.raw = raw
	}
	*to = r.newest.reading
	return nil
}

// objectEnd is the length of the JSON object at the beginning of valid JSON.
func objectEnd(b []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(b)
}
