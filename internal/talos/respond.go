package talos

import (
	"regexp"
	"strings"
)

// harmless are the beginnings of Talos' answers that hold nothing of a configuration. What follows one of them (a
// difference, a reason, a method or target) is not part of it and is cut off.
var harmless = []string{
	"Applied configuration without a reboot",
	"Applied configuration with a reboot",
	"Staged configuration to be applied after the next reboot",
	"another apply configuration is already in progress",
	"this config change can't be applied in immediate mode",
	"not authorized",
	"no request forwarding",
	"node metadata must be single-valued",
	"one-2-many proxying is not supported",
	"invalid target",
	"write access is not allowed",
	"method is not supported in container mode",
	"API is not implemented in agent mode",
}

// rebooting is in the middle of the answer of a node whose earlier apply asked for a reboot.
const rebooting = "node is rebooting"

// ResponseText is what may be kept of an answer of a node or endpoint: a known beginning, and nothing after it. withheld
// says that the answer said more than text.
func ResponseText(s string) (text string, withheld bool) {
	s = strings.TrimSpace(s)
	for _, known := range harmless {
		if rest, ok := strings.CutPrefix(s, known); ok {
			return known, strings.Trim(rest, " .\n") != ""
		}
	}
	if first, _, _ := strings.Cut(s, "\n"); strings.Contains(first, rebooting) {
		return rebooting, true
	}
	return "", s != ""
}

var versionPattern = regexp.MustCompile(`^v?([0-9]+)\.([0-9]+)\.[0-9]+([-+].*)?$`)

// Minor is the minor version of a Talos version: "v1.13" of "v1.13.6", "" of what is no version.
func Minor(version string) string {
	m := versionPattern.FindStringSubmatch(version)
	if m == nil {
		return ""
	}
	return "v" + m[1] + "." + m[2]
}
