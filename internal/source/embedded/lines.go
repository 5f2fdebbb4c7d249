package embedded

import (
	"strconv"
	"strings"
)

// parseProperties reads KEY=VALUE, KEY: VALUE or KEY VALUE a line, as Java's Properties and .env files have it, with
// continuation lines and escapes. Every line that is no comment has to be an entry, and no key may come twice.
func parseProperties(text string) (any, bool) {
	out := map[string]any{}
	for _, line := range logicalLines(text) {
		key, value, ok := property(line)
		if !ok {
			return nil, false
		}
		if _, twice := out[key]; twice {
			return nil, false
		}
		out[key] = value
	}
	return bounded(out)
}

// logicalLines are the lines without comments and empty ones; a backslash at the end draws the next line in.
func logicalLines(text string) []string {
	var out []string
	carried := ""
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		line = strings.TrimLeft(line, " \t\f")
		if carried == "" && (line == "" || line[0] == '#' || line[0] == '!') {
			continue
		}
		slashes := len(line) - len(strings.TrimRight(line, `\`))
		if slashes%2 == 1 {
			carried += line[:len(line)-1]
			continue
		}
		out = append(out, carried+line)
		carried = ""
	}
	if carried != "" {
		out = append(out, carried)
	}
	return out
}

func property(line string) (key, value string, ok bool) {
	end := -1
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
			continue
		}
		if strings.IndexByte("=: \t", line[i]) >= 0 {
			end = i
			break
		}
	}
	if end <= 0 {
		return "", "", false
	}
	rest := strings.TrimLeft(line[end:], " \t")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t")
	}
	return unescape(line[:end]), unescape(rest), true
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'u':
			if i+4 < len(s) {
				if r, err := strconv.ParseUint(s[i+1:i+5], 16, 32); err == nil {
					b.WriteRune(rune(r))
					i += 4
					continue
				}
			}
			b.WriteByte('u')
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// parseINI reads sections of KEY = VALUE lines. A line that is neither makes the text no document, as does a key or a
// section that comes twice: programs differ in what they make of those.
func parseINI(text string) (any, bool) {
	out := map[string]any{}
	section := out
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			name, rest, ok := strings.Cut(line[1:], "]")
			if _, twice := out[name]; !ok || twice || name == "" || strings.TrimSpace(rest) != "" {
				return nil, false
			}
			section = map[string]any{}
			out[name] = section
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			key, value, ok = strings.Cut(line, ":")
		}
		key = strings.TrimSpace(key)
		if _, twice := section[key]; !ok || key == "" || twice {
			return nil, false
		}
		section[key] = strings.TrimSpace(value)
	}
	return bounded(out)
}
