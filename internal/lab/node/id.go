package node

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// newUUID returns a random (version 4) UUID.
func newUUID() string {
	var b [16]byte

	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80

	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

var (
	eventCounter  atomic.Uint32
	eventEncoding = base32.HexEncoding.WithPadding(base32.NoPadding)
)

// newEventID returns 20 characters that sort by time and then by order of creation: seconds (4 bytes), process
// (5 bytes), counter (3 bytes), in lower-case base32hex.
func newEventID(now time.Time) string {
	var b [12]byte

	binary.BigEndian.PutUint32(b[:], uint32(now.Unix()))
	binary.BigEndian.PutUint32(b[4:], uint32(os.Getpid()))
	binary.BigEndian.PutUint32(b[8:], eventCounter.Add(1)&0xffffff)

	out := []byte(eventEncoding.EncodeToString(b[:]))
	for i, c := range out {
		if c >= 'A' && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}

	return string(out)
}
