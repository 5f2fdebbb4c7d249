package dispatch

import (
	"bytes"
	"encoding/json"
)

// bodyReader reads bodies. Most entries of a store begin or record readings, and most readings show what the one before
// showed: the two newest are kept (a read that begins shows nothing), and not decoded again.
type bodyReader struct {
	newest, older decodedReading
	last          Observation // of the last body that was read without the decoder: its words come again
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
	if o, part := r.plain(raw); o != nil {
		return Body{Observation: o}, part, nil
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

// plain reads a body that is nothing but an observation, written as the store writes it, whose reading was decoded
// before; nil for every other one. The decoder would read the same.
func (r *bodyReader) plain(raw []byte) (*Observation, []byte) {
	if r.newest.raw == nil {
		return nil, nil
	}
	s := words{rest: raw}
	o := r.last // its words are kept where they are the same
	s.skip(`{"observation":{"machine":`)
	s.text(&o.Machine)
	s.skip(`,"basis":`)
	s.number(&o.Basis)
	s.skip(`,"revision":`)
	s.number(&o.Revision)
	s.skip(`,"started_at":`)
	started := s.quoted()
	s.skip(`,"purpose":`)
	s.text((*string)(&o.Purpose))
	s.optional(`,"plan":`, &o.Plan)
	s.optional(`,"operation":`, &o.Operation)
	s.skip(`,"instance":`)
	s.text(&o.Instance)
	s.skip(`,"route":`)
	s.text((*string)(&o.Route))
	s.optional(`,"local_addr":`, &o.LocalAddr)
	s.optional(`,"remote_addr":`, &o.RemoteAddr)
	s.optional(`,"read_address":`, &o.ReadAddress)
	s.skip(`,"reading":`)
	if s.bad || o.StartedAt.UnmarshalText(started) != nil || !r.known(s.rest) {
		return nil, nil
	}
	o.Reading = r.newest.reading
	r.last = o
	return &o, raw[len(observationFirst) : len(raw)-1]
}

// known says whether the bytes are one of the two readings that are kept, and the end of the body; it is then the newest.
func (r *bodyReader) known(rest []byte) bool {
	is := func(d decodedReading) bool {
		end, ok := bytes.CutPrefix(rest, d.raw)
		return ok && d.raw != nil && string(end) == "}}"
	}
	if is(r.newest) {
		return true
	}
	if !is(r.older) {
		return false
	}
	r.newest, r.older = r.older, r.newest
	return true
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
