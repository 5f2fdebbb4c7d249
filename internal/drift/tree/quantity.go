package tree

import (
	"math/big"
	"strconv"
	"strings"
)

// suffixes of quantities: a base and its power.
var suffixes = map[string][2]int64{
	"n": {10, -9}, "u": {10, -6}, "m": {10, -3}, "": {10, 0}, "k": {10, 3}, "M": {10, 6}, "G": {10, 9}, "T": {10, 12},
	"P": {10, 15}, "E": {10, 18},
	"Ki": {2, 10}, "Mi": {2, 20}, "Gi": {2, 30}, "Ti": {2, 40}, "Pi": {2, 50}, "Ei": {2, 60},
}

// maxExponent bounds what is computed; the API caps quantities far below it.
const maxExponent = 60

// SameQuantity says whether two values are the same quantity, as the API counts them: "1000m" is "1", 1024 is "1Ki".
// Values that are not quantities are compared as they are.
func SameQuantity(a, b any) bool {
	if Same(a, b) {
		return true
	}
	x, okX := quantity(a)
	y, okY := quantity(b)
	return okX && okY && x.Cmp(y) == 0
}

func quantity(v any) (*big.Rat, bool) {
	s, ok := v.(string)
	if !ok {
		return rational(v)
	}
	if len(s) > 64 {
		return nil, false
	}
	end := len(s)
	for i, r := range s {
		if (r < '0' || r > '9') && r != '.' && (r != '+' && r != '-' || i > 0) {
			end = i
			break
		}
	}
	mantissa, suffix := s[:end], s[end:]
	if !strings.ContainsAny(mantissa, "0123456789") || strings.Count(mantissa, ".") > 1 {
		return nil, false
	}
	digits := strings.TrimSuffix(mantissa, ".")
	n, ok := new(big.Rat).SetString(digits)
	if !ok {
		return nil, false
	}
	base, power, ok := scale(suffix)
	if !ok {
		return nil, false
	}
	factor := new(big.Int).Exp(big.NewInt(base), big.NewInt(max(power, -power)), nil)
	if power < 0 {
		return n.Quo(n, new(big.Rat).SetInt(factor)), true
	}
	return n.Mul(n, new(big.Rat).SetInt(factor)), true
}

func scale(suffix string) (base, power int64, ok bool) {
	if s, ok := suffixes[suffix]; ok {
		return s[0], s[1], true
	}
	if suffix[0] == 'e' || suffix[0] == 'E' {
		e, err := strconv.ParseInt(suffix[1:], 10, 16)
		return 10, e, err == nil && e <= maxExponent && e >= -maxExponent
	}
	return 0, 0, false
}
