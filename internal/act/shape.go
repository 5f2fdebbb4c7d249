package act

import (
	"strings"
	"time"
)

// Shape is what a recorded value must look like. A flag without a shape never has its value recorded.
type Shape string

// Shapes.
const (
	ShapeNone     Shape = ""
	ShapeEnum     Shape = "enum" // one of the flag's own list
	ShapeNumber   Shape = "number"
	ShapeDuration Shape = "duration"
	ShapeBool     Shape = "bool"
	ShapeName     Shape = "name"    // a Kubernetes object's or a host's name, at most 63 characters
	ShapeNames    Shape = "names"   // several, separated by commas
	ShapeVersion  Shape = "version" // v1.13.6
	ShapeImage    Shape = "image"   // a container image without user information
	ShapeHost     Shape = "host"    // host, host:port or a URL, of which only scheme, host and port are kept
)

// Shapes lists every shape but the empty one.
var Shapes = []Shape{
	ShapeEnum, ShapeNumber, ShapeDuration, ShapeBool, ShapeName, ShapeNames, ShapeVersion, ShapeImage, ShapeHost,
}

// Elided stands for what is not recorded.
const Elided = "…"

// recordable gives the form in which a value may be recorded under a shape.
func recordable(shape Shape, enum []string, v string) (string, bool) {
	switch shape {
	case ShapeEnum:
		for _, e := range enum {
			if v == e {
				return v, true
			}
		}
	case ShapeNumber:
		return v, isNumber(v)
	case ShapeDuration:
		_, err := time.ParseDuration(v)
		return v, err == nil || isNumber(v)
	case ShapeBool:
		return v, v == "true" || v == "false"
	case ShapeName:
		return v, isName(v)
	case ShapeNames:
		for part := range strings.SplitSeq(v, ",") {
			if !isName(part) {
				return "", false
			}
		}
		return v, true
	case ShapeVersion:
		return v, isVersion(v)
	case ShapeImage:
		return v, isImage(v)
	case ShapeHost:
		return plainHost(v)
	case ShapeNone:
	}
	return "", false
}

// allOf says whether v is not empty and has no other characters than those that ok accepts.
func allOf(v string, most int, ok func(c byte) bool) bool {
	if v == "" || len(v) > most {
		return false
	}
	for i := range len(v) {
		if !ok(v[i]) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

func isNumber(v string) bool {
	return allOf(strings.TrimPrefix(v, "-"), 12, isDigit)
}

// longestName is the longest name that is recorded. Objects may have longer ones; tokens mostly do.
const longestName = 63

// isName says whether v is the name of an object or a host, or an address.
func isName(v string) bool {
	return allOf(v, longestName, func(c byte) bool { return isLower(c) || isDigit(c) || c == '-' || c == '.' || c == ':' }) &&
		(isLower(v[0]) || isDigit(v[0]) || v[0] == ':')
}

// isType says whether v can be a resource type: letters, digits and dots, as in Deployment or helmreleases.v2.helm.toolkit.fluxcd.io.
func isType(v string) bool {
	return allOf(v, longestName, func(c byte) bool { return isLower(c|0x20) || isDigit(c) || c == '-' || c == '.' }) && isLower(v[0]|0x20)
}

func isVersion(v string) bool {
	v = strings.TrimPrefix(v, "v")
	return allOf(v, 32, func(c byte) bool { return isLower(c) || isDigit(c) || c == '.' || c == '-' || c == '+' }) &&
		isDigit(v[0]) && strings.Contains(v, ".")
}

// isImage accepts host[:port]/path[:tag][@sha256:digest]. A user or a password has an @ that no digest follows.
func isImage(v string) bool {
	v, digest, pinned := strings.Cut(v, "@")
	if pinned {
		hex, ok := strings.CutPrefix(digest, "sha256:")
		if !ok || len(hex) != 64 || !allOf(hex, 64, func(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' }) {
			return false
		}
	}
	return strings.Contains(v, "/") && allOf(v, 200, func(c byte) bool {
		return isWordRune(rune(c)) || c == '/' || c == ':' || c == '+'
	})
}

// plainHost keeps scheme, host and port of an address, and nothing of one that carries user information.
func plainHost(v string) (string, bool) {
	scheme, rest, ok := strings.Cut(v, "://")
	if !ok {
		scheme, rest = "", v
	} else if scheme != "https" && scheme != "http" {
		return "", false
	}
	if strings.Contains(rest, "@") {
		return "", false
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	if !allOf(rest, 253, func(c byte) bool { return isWordRune(rune(c)) || c == ':' || c == '[' || c == ']' }) {
		return "", false
	}
	if scheme != "" {
		rest = scheme + "://" + rest
	}
	return rest, true
}
