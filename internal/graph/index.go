package graph

import (
	"cmp"
	"crypto/sha256"
	"slices"
)

// index finds numbers of vertices by the hash of a text. It is a tree of two levels with fixed fan-out, so that its
// shape depends on its content only, and versions share the buckets that do not differ.
type index struct {
	groups [fan]*group
}

const fan = 64

type group struct {
	buckets [fan]*bucket
	sum     [sha256.Size]byte // of the buckets' sums; only in the index of names
}

type bucket struct {
	entries []indexEntry // by hash, then number
	sum     [sha256.Size]byte
}

type indexEntry struct {
	hash uint64
	id   uint32
}

// hashOf is FNV-1a of 64 bits. It orders entries and guards nothing.
func hashOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// place is where a hash belongs. Its upper bits are the well mixed ones.
func place(h uint64) (g, b int) { return int(h >> 58), int(h >> 52 & (fan - 1)) }

// get lists the numbers under a hash.
func (x *index) get(h uint64) []uint32 {
	g, b := place(h)
	if x == nil || x.groups[g] == nil || x.groups[g].buckets[b] == nil {
		return nil
	}
	entries := x.groups[g].buckets[b].entries
	i, _ := slices.BinarySearchFunc(entries, h, func(e indexEntry, h uint64) int { return cmp.Compare(e.hash, h) })
	var ids []uint32
	for ; i < len(entries) && entries[i].hash == h; i++ {
		ids = append(ids, entries[i].id)
	}
	return ids
}

// indexEditor changes a copy of an index; what it has not touched stays shared.
type indexEditor struct {
	to     *index
	groups map[int]bool
	owned  map[*bucket]bool
}

func editIndex(from *index) *indexEditor {
	to := &index{}
	if from != nil {
		*to = *from
	}
	return &indexEditor{to: to, groups: map[int]bool{}, owned: map[*bucket]bool{}}
}

// bucket is the one for a hash, owned by the editor.
func (e *indexEditor) bucket(h uint64) *bucket {
	g, b := place(h)
	if !e.groups[g] {
		c := &group{}
		if old := e.to.groups[g]; old != nil {
			*c = *old
		}
		e.to.groups[g], e.groups[g] = c, true
	}
	slot := &e.to.groups[g].buckets[b]
	if *slot == nil {
		*slot = &bucket{}
		e.owned[*slot] = true
	} else if !e.owned[*slot] {
		*slot = &bucket{entries: slices.Clone((*slot).entries)}
		e.owned[*slot] = true
	}
	return *slot
}

func (e *indexEditor) add(h uint64, id uint32) {
	b := e.bucket(h)
	i, _ := slices.BinarySearchFunc(b.entries, indexEntry{h, id}, compareEntries)
	b.entries = slices.Insert(b.entries, i, indexEntry{h, id})
}

func (e *indexEditor) remove(h uint64, id uint32) {
	b := e.bucket(h)
	if i, ok := slices.BinarySearchFunc(b.entries, indexEntry{h, id}, compareEntries); ok {
		b.entries = slices.Delete(b.entries, i, i+1)
	}
}

func compareEntries(a, b indexEntry) int {
	return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.id, b.id))
}
