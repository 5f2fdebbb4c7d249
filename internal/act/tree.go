package act

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tree is a parsed document with its line numbers, from whatever parser the adapter uses.
type Tree struct {
	Line int
	Kind TreeKind
	Text string // of a scalar
	Keys []Tree // of a mapping, in the file's order: scalars
	Vals []Tree // values of a mapping, or items of a list
}

// TreeKind is what a node of a Tree is.
type TreeKind int

// Kinds of nodes.
const (
	TreeScalar TreeKind = iota
	TreeList
	TreeMap
)

// Mistake is one error in a file.
type Mistake struct {
	Line int
	Text string
}

// FileError lists the mistakes of a file in the order of its lines.
type FileError struct {
	File     string
	Mistakes []Mistake
}

// Error gives one line for each mistake: FILE:LINE: what is wrong and what would be right.
func (e *FileError) Error() string {
	lines := make([]string, len(e.Mistakes))
	for i, m := range e.Mistakes {
		lines[i] = fmt.Sprintf("%s:%d: %s", e.File, m.Line, m.Text)
	}
	return strings.Join(lines, "\n")
}

// mostMistakes is how many mistakes are listed: the first ones often cause the rest.
const mostMistakes = 20

// reader reads a Tree strictly and gathers mistakes.
type reader struct {
	mistakes []Mistake
}

func (r *reader) mistake(t Tree, format string, args ...any) {
	r.mistakes = append(r.mistakes, Mistake{Line: t.Line, Text: fmt.Sprintf(format, args...)})
}

// failed is the file's error, or nil.
func (r *reader) failed(file string) error {
	if len(r.mistakes) == 0 {
		return nil
	}
	slices.SortStableFunc(r.mistakes, func(a, b Mistake) int { return a.Line - b.Line })
	return &FileError{File: file, Mistakes: r.mistakes[:min(len(r.mistakes), mostMistakes)]}
}

// fields reads a mapping: each key at most once and only known ones.
func (r *reader) fields(t Tree, what string, known ...string) map[string]Tree {
	found := map[string]Tree{}
	if t.Kind != TreeMap {
		r.mistake(t, "%s must be a mapping with the keys %s", what, strings.Join(known, ", "))
		return found
	}
	for i, key := range t.Keys {
		if _, twice := found[key.Text]; twice {
			r.mistake(key, "%q stands here twice", key.Text)
			continue
		}
		if !slices.Contains(known, key.Text) {
			r.mistake(key, "unknown key %q in %s; known here: %s", key.Text, what, strings.Join(known, ", "))
			continue
		}
		found[key.Text] = t.Vals[i]
	}
	return found
}

// pairs reads a mapping with free keys.
func (r *reader) pairs(t Tree, what string) (keys, vals []Tree) {
	if t.Kind != TreeMap {
		r.mistake(t, "%s must be a mapping", what)
		return nil, nil
	}
	seen := map[string]bool{}
	for _, key := range t.Keys {
		if seen[key.Text] {
			r.mistake(key, "%q stands here twice", key.Text)
		}
		seen[key.Text] = true
	}
	return t.Keys, t.Vals
}

func (r *reader) items(t Tree, what string) []Tree {
	if t.Kind != TreeList {
		r.mistake(t, "%s must be a list", what)
		return nil
	}
	return t.Vals
}

func (r *reader) text(t Tree, what string) string {
	if t.Kind != TreeScalar || t.Text == "" {
		r.mistake(t, "%s must be text", what)
		return ""
	}
	return t.Text
}

func (r *reader) texts(t Tree, what string) []string {
	var list []string
	for _, item := range r.items(t, what) {
		if s := r.text(item, "each of "+what); s != "" {
			list = append(list, s)
		}
	}
	return list
}

func (r *reader) number(t Tree, what string) int {
	n, err := strconv.Atoi(t.Text)
	if t.Kind != TreeScalar || err != nil || n < -1 || n > 255 {
		r.mistake(t, "%s must be a whole number up to 255", what)
		return 0
	}
	return n
}

func (r *reader) numbers(t Tree, what string) []int {
	var list []int
	for _, item := range r.items(t, what) {
		list = append(list, r.number(item, "each of "+what))
	}
	return list
}

func (r *reader) yes(t Tree, what string) bool {
	if t.Kind != TreeScalar || t.Text != "true" && t.Text != "false" {
		r.mistake(t, "%s must be true or false", what)
	}
	return t.Text == "true"
}

// longestDuration bounds durations in files: a longer one is a typing error.
const longestDuration = 24 * time.Hour

func (r *reader) duration(t Tree, what string) time.Duration {
	d, err := time.ParseDuration(t.Text)
	if t.Kind != TreeScalar || err != nil || d <= 0 || d > longestDuration {
		r.mistake(t, "%s must be a duration above zero and at most 24h, as in 90s or 5m", what)
		return 0
	}
	return d
}

// oneOf reads one word of a list.
func oneOf[T ~string](r *reader, t Tree, what string, known []T) T {
	if t.Kind == TreeScalar && slices.Contains(known, T(t.Text)) {
		return T(t.Text)
	}
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = string(k)
	}
	r.mistake(t, "%s must be one of %s", what, strings.Join(names, ", "))
	return ""
}
