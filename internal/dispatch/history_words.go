package dispatch

import "bytes"

// words reads compact JSON piece by piece, in the order in which it is expected. What is written in any other way, such
// as a string with an escape in it, makes it bad: it is then for the decoder.
type words struct {
	rest []byte
	bad  bool
}

// skip reads exactly these bytes.
func (w *words) skip(text string) {
	if w.bad || len(w.rest) < len(text) || string(w.rest[:len(text)]) != text {
		w.bad = true
		return
	}
	w.rest = w.rest[len(text):]
}

// quoted reads a string of printable ASCII without escapes, and gives what stands between its quotes.
func (w *words) quoted() []byte {
	if w.bad || len(w.rest) == 0 || w.rest[0] != '"' {
		w.bad = true
		return nil
	}
	end := bytes.IndexByte(w.rest[1:], '"')
	if end < 0 {
		w.bad = true
		return nil
	}
	text := w.rest[1 : 1+end]
	for _, c := range text {
		if c < ' ' || c > '~' || c == '\\' {
			w.bad = true
			return nil
		}
	}
	w.rest = w.rest[end+2:]
	return text
}

// text reads a string; one that to holds already is not copied.
func (w *words) text(to *string) {
	if got := w.quoted(); *to != string(got) {
		*to = string(got)
	}
}

// optional reads a name and its string, or makes it empty where another name stands.
func (w *words) optional(name string, to *string) {
	if w.bad || len(w.rest) < len(name) || string(w.rest[:len(name)]) != name {
		*to = ""
		return
	}
	w.rest = w.rest[len(name):]
	w.text(to)
}

// number reads a positive number or 0.
func (w *words) number(to *int64) {
	n, digits := int64(0), 0
	for ; digits < len(w.rest) && w.rest[digits] >= '0' && w.rest[digits] <= '9'; digits++ {
		n = n*10 + int64(w.rest[digits]-'0')
		if digits >= 17 { // more could overflow
			w.bad = true
			return
		}
	}
	if digits == 0 || digits > 1 && w.rest[0] == '0' {
		w.bad = true
		return
	}
	*to, w.rest = n, w.rest[digits:]
}
