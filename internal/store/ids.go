package store

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Prefixes of record ids. The rest is random: nothing counts, so a restored store does not issue an id again.
const (
	PlanPrefix      = "p-"
	OperationPrefix = "op-"
	ApprovalPrefix  = "a-"
	DriftPrefix     = "d-"
	MachinePrefix   = "m-"
	InstancePrefix  = "i-"
	jobPrefix       = "j-"
)

const (
	shortestID = 3
	longestID  = 10
)

// idAlphabet has no i, l, o and u: ids are read aloud and typed.
var idAlphabet = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// newID is a random id that no row of the table has: three characters while they are free, longer on a collision.
// table and column are constants of this package.
func (tx *Tx) newID(prefix, table, column string) (string, error) {
	for n := shortestID; n <= longestID; n++ {
		id := prefix + randomText(n)
		var taken int64
		err := tx.row(fmt.Sprintf(`SELECT COUNT(*) FROM %s WHERE %s = $1`, table, column), id).Scan(&taken)
		if err != nil {
			return "", err
		}
		if taken == 0 {
			return id, nil
		}
	}
	return "", errors.New("store: no free id was found in " + table)
}

func randomText(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails, by its documentation
	return idAlphabet.EncodeToString(b)[:n]
}

// random128 is 128 random bits in hex: recovery epochs, instances and transaction tokens.
func random128() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// NewToken is a random token, by which a transaction whose COMMIT had no answer is found again.
func NewToken() string { return random128() }

// IsID says whether the text looks like a record id with this prefix.
func IsID(prefix, text string) bool {
	rest, ok := strings.CutPrefix(text, prefix)
	return ok && len(rest) >= shortestID && strings.Trim(rest, "0123456789abcdefghjkmnpqrstvwxyz") == ""
}
