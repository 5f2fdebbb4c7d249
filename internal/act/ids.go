package act

import (
	"encoding/base32"
	"fmt"
	"strings"
)

// Prefixes of short ids.
const (
	ActPrefix  = "i-"
	WorkPrefix = "w-"
)

// Lengths of what follows a short id's prefix.
const (
	ShortestID = 3
	LongestID  = 5
)

// idText has no i, l, o and u: ids are read aloud and typed.
var idText = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// ShortID makes a short id of random bytes that the caller hands in (at least four): the shortest one that taken does
// not know. With the longest one taken too, the caller tries again with other bytes.
func ShortID(prefix string, random []byte, taken func(id string) bool) (string, error) {
	text := idText.EncodeToString(random)
	if len(text) < LongestID {
		return "", fmt.Errorf("act: %d random bytes are too few for an id", len(random))
	}
	for n := ShortestID; n <= LongestID; n++ {
		if id := prefix + text[:n]; !taken(id) {
			return id, nil
		}
	}
	return "", fmt.Errorf("act: every id beginning with %s%s is taken", prefix, text[:ShortestID])
}

// MatchID finds the id that a typed text means: itself, or the only one that begins with it. ok is false when none or
// several do; several says which.
func MatchID(typed string, ids []string) (id string, several []string, ok bool) {
	for _, candidate := range ids {
		if candidate == typed {
			return candidate, nil, true
		}
		if typed != "" && strings.HasPrefix(candidate, typed) {
			several = append(several, candidate)
		}
	}
	if len(several) == 1 {
		return several[0], nil, true
	}
	return "", several, false
}
