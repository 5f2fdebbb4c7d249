package store

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/clewops/clew/internal/ledger"
)

// FuzzHeadFile: a head file reads as what was written, or is damaged; whichever bytes change, it is not taken for another
// one that remembers less.
func FuzzHeadFile(f *testing.F) {
	file := func(lines ...string) []byte {
		var out []byte
		for _, l := range lines {
			b, err := encodeLine(l)
			if err != nil {
				f.Fatal(err)
			}
			out = append(out, b...)
		}
		return out
	}
	hash := (ledger.Hash{1, 2, 3}).String()
	good := file(headMagic+" epoch-1 sqlite inode 7", "machine/m-1 12 "+hash, "installation/ 3 "+hash)
	f.Add(good, uint16(0), byte(0))
	f.Add(good, uint16(300), byte(1))
	f.Add(file(headMagic+" epoch-1"), uint16(5), byte(9))
	f.Add(file("another epoch"), uint16(0), byte(0))
	f.Add(file(headMagic+" e d", "machine/m-1 -4 "+hash), uint16(0), byte(0))
	f.Add(file(headMagic+" e d", "machine/m-1 007 "+hash+" more"), uint16(0), byte(0))
	f.Add([]byte{}, uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, b []byte, at uint16, by byte) {
		s, err := parseHeads(b)
		if err != nil {
			if !errors.Is(err, errHeadDamaged) {
				t.Errorf("damage is not called so: %v", err)
			}
			return
		}
		for scope, h := range s.Heads {
			line, err := encodeHead(h)
			if err != nil {
				t.Fatal(err)
			}
			text, err := decodeLine(line)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := decodeHead(text); err != nil || again != h || h.Scope != scope {
				t.Errorf("%+v reads back as %+v, %v", h, again, err)
			}
			if !bytes.Contains(b, line) {
				t.Errorf("the file has no line %q, and a head is read from it", line)
			}
		}
		if by == 0 || len(b) == 0 {
			return
		}
		spoiled := slices.Clone(b)
		spoiled[int(at)%len(b)] ^= by
		if other, err := parseHeads(spoiled); err == nil && (other.Epoch != s.Epoch || !maps.Equal(other.Heads, s.Heads)) {
			t.Errorf("one byte changed, and it reads as %+v", other)
		}
	})
}
