package talos

import (
	"strings"
	"testing"
)

func TestResponseTexts(t *testing.T) {
	for _, c := range []struct {
		answer, text string
		withheld     bool
	}{
		{"", "", false},
		{" \n", "", false},
		{"Applied configuration without a reboot", "Applied configuration without a reboot", false},
		{"Applied configuration without a reboot.\n", "Applied configuration without a reboot", false},
		{"Applied configuration without a reboot\nThe config is applied in 'try' mode", "Applied configuration without a reboot", true},
		{"Applied configuration with a reboot: this config change can't be applied in immediate mode\ndiff: secret", "Applied configuration with a reboot", true},
		{"this config change can't be applied in immediate mode\ndiff:\n-token: secret", "this config change can't be applied in immediate mode", true},
		{"another apply configuration is already in progress", "another apply configuration is already in progress", false},
		{"cannot apply configuration while the node is rebooting after secret", "node is rebooting", true},
		{"secret\nnode is rebooting", "", true},
		{"not authorized", "not authorized", false},
		{"one-2-many proxying is not supported for method /secret", "one-2-many proxying is not supported", true},
		{"unknown keys found during decoding: secret", "", true},
		{"token secret: not authorized", "", true},
		{"Dry run summary:\nsecret", "", true},
	} {
		text, withheld := ResponseText(c.answer)
		if text != c.text || withheld != c.withheld || strings.Contains(text, "secret") {
			t.Errorf("%q: %q, %v", c.answer, text, withheld)
		}
	}
}

func TestMinorVersions(t *testing.T) {
	for version, want := range map[string]string{
		"v1.13.6": "v1.13", "1.13.6": "v1.13", "v1.13.0-alpha.1": "v1.13", "v1.9.0": "v1.9", "v1.13.6-3-g0f": "v1.13",
		"": "", "v1.13": "", "v1.13.x": "", "latest": "", "v1.13.6 v1.12.0": "", "v1.13.6garbage": "", "v1.13.6\n": "",
	} {
		if got := Minor(version); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}
