package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRecognise(t *testing.T) {
	const redistribution = "Redistribution and use in source and binary forms, with or without\nmodification, are permitted"
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"Apache":           {"  Apache License\n   Version 2.0, January 2004", []string{"Apache-2.0"}},
		"MIT, re-wrapped":  {"Permission is hereby granted, free of\n charge, to any person obtaining a copy ... The above copyright notice and this permission notice shall", []string{"MIT"}},
		"three-clause BSD": {redistribution + " ... may be used to endorse or promote products derived from", []string{"BSD-3-Clause"}},
		"two-clause BSD":   {redistribution, []string{"BSD-2-Clause"}},
		"ISC":              {"Permission to use, copy, modify, and/or distribute this software for any purpose", []string{"ISC"}},
		"MPL, which names the GPL as a secondary licence": {
			"Mozilla Public License Version 2.0\n" + strings.Repeat("x ", titleLength) + "GNU General Public License", []string{"MPL-2.0"},
		},
		"GPL":                  {"GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007", []string{"!GPL"}},
		"AGPL":                 {"GNU AFFERO GENERAL PUBLIC LICENSE\n Version 3", []string{"!AGPL"}},
		"LGPL":                 {"GNU Lesser General Public License", []string{"!LGPL"}},
		"Business Source":      {"License text copyright ... Business Source License 1.1", []string{"!BUSL"}},
		"an unknown text":      {"You may do as you like.", nil},
		"an empty file":        {"", nil},
		"Apache with a clause": {"\"Commons Clause\" License Condition ... Apache License Version 2.0", []string{"!Commons-Clause"}},
	} {
		if got := recognise(tc.text); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestRenderFailsOnWhatMayNotBeLinked(t *testing.T) {
	module := func(file, text string) linked {
		dir := t.TempDir()
		if file != "" {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return linked{path: "example.com/m", version: "v1.2.3", dir: dir}
	}
	text, err := render([]linked{module("LICENCE.md", "Apache License Version 2.0")})
	if err != nil || !strings.HasSuffix(text, "\nexample.com/m v1.2.3 Apache-2.0\n") {
		t.Errorf("control: %q, %v", text, err)
	}
	for name, m := range map[string]linked{
		"no licence file":    module("", ""),
		"unknown":            module("LICENSE", "All rights reserved."),
		"GPL":                module("COPYING", "GNU General Public License"),
		"only a source file": module("license.go", "Apache License Version 2.0"),
	} {
		if text, err := render([]linked{m}); err == nil {
			t.Errorf("%s: accepted as %q", name, text)
		}
	}
}
