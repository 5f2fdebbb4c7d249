package talos

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

const (
	withheld   = "[value withheld]"
	maxMessage = 4 << 10
)

const unknownKeys = "unknown keys found during decoding:\n"

var (
	// The YAML library quotes the value that it cannot put where it stands.
	unfit    = regexp.MustCompile("(cannot (?:construct|unmarshal|decode) \\S+) `.*` (into|as) ")
	errorSum = regexp.MustCompile(`\s*\d+ errors? occurred:[\s*]*`)
	words    = regexp.MustCompile("[^\\s\"'`,()\\[\\]{}]+")
)

// cleanMessage is the text of an error of Talos' libraries on one line, without values that may be secret: of unknown
// keys only the names stay, values of the wrong type are left out, and so is whatever hidden names or looks secret. I7
func cleanMessage(err error, hidden [][]byte) string {
	s := err.Error()
	if before, after, found := strings.Cut(s, unknownKeys); found {
		s = before + "unknown keys: " + keysOnly(after)
	}
	s = unfit.ReplaceAllString(s, "$1 "+withheld+" $2 ")
	s = errorSum.ReplaceAllString(s, " ")
	var parts []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "*")); line != "" {
			parts = append(parts, line)
		}
	}
	return cleanText(strings.ReplaceAll(strings.Join(parts, "; "), ":; ", ": "), hidden)
}

// cleanText takes out of a text what hidden names, in any of its quotings, and every word that looks secret.
func cleanText(s string, hidden [][]byte) string {
	hidden = slices.SortedFunc(slices.Values(hidden), func(a, b []byte) int { return len(b) - len(a) })
	for _, h := range hidden {
		if len(h) < 4 {
			continue
		}
		quoted := strconv.Quote(string(h))
		s = strings.ReplaceAll(s, string(h), secretMark)
		s = strings.ReplaceAll(s, quoted[1:len(quoted)-1], secretMark)
	}
	s = words.ReplaceAllStringFunc(s, func(w string) string {
		if looksSecret(w, false) {
			return secretMark
		}
		return w
	})
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + " ..."
	}
	return printable(s)
}

// printable replaces control characters, so that a message cannot move the cursor of the terminal that shows it.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
}

// keysOnly lists the paths of keys in a YAML text, without their values.
func keysOnly(text string) string {
	var doc yaml.Node
	if err := yaml.Unmarshal(bytes.TrimSpace([]byte(text)), &doc); err != nil || len(doc.Content) == 0 {
		return withheld
	}
	var paths []string
	collectKeys(doc.Content[0], "", &paths)
	if more := len(paths) - 10; more > 0 {
		paths = append(paths[:10], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(paths, ", ")
}

func collectKeys(n *yaml.Node, path string, paths *[]string) {
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) > 0:
		for i := 0; i+1 < len(n.Content); i += 2 {
			collectKeys(n.Content[i+1], strings.TrimPrefix(path+"."+n.Content[i].Value, "."), paths)
		}
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		for _, c := range n.Content {
			collectKeys(c, path+"[]", paths)
		}
	default:
		*paths = append(*paths, path)
	}
}
