package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// isLicenceFile says whether a file of this name holds a licence.
func isLicenceFile(name string) bool {
	name = strings.ToUpper(name)
	for _, prefix := range []string{"LICENSE", "LICENCE", "COPYING", "UNLICENSE"} {
		if strings.HasPrefix(name, prefix) && !strings.HasSuffix(name, ".GO") {
			return true
		}
	}
	return false
}

// forbidden are licences that code linked into these programs may not have, by a phrase of their titles. They are
// looked for at the beginning of a text only: other licences mention them further down.
var forbidden = []struct{ name, title string }{
	{"AGPL", "gnu affero general public license"},
	{"LGPL", "gnu lesser general public license"},
	{"LGPL", "gnu library general public license"},
	{"GPL", "gnu general public license"},
	{"BUSL", "business source license"},
	{"SSPL", "server side public license"},
	{"Elastic", "elastic license"},
	{"Commons-Clause", "commons clause"},
	{"PolyForm", "polyform"},
	{"CC-BY-NC", "attribution-noncommercial"},
}

// known are the licences that may be linked, by phrases that all have to occur.
var known = []struct {
	name    string
	phrases []string
}{
	{"Apache-2.0", []string{"apache license version 2 0"}},
	{"MPL-2.0", []string{"mozilla public license version 2 0"}},
	{"MIT", []string{
		"permission is hereby granted free of charge to any person obtaining a copy",
		"the above copyright notice and this permission notice",
	}},
	{"MIT-0", []string{"mit no attribution", "permission is hereby granted free of charge to any person obtaining a copy"}},
	{"BSD-3-Clause", []string{
		"redistribution and use in source and binary forms with or without modification are permitted",
		"may be used to endorse or promote products derived",
	}},
	{"BSD-2-Clause", []string{
		"redistribution and use in source and binary forms with or without modification are permitted",
	}},
	{"ISC", []string{"permission to use copy modify and or distribute this software for any purpose"}},
	{"Zlib", []string{"this software is provided as is without any express or implied warranty", "altered source versions"}},
	{"Unlicense", []string{"this is free and unencumbered software released into the public domain"}},
	{"CC0-1.0", []string{"cc0 1 0 universal"}},
}

// titleLength is how far into a text a title is looked for, in characters.
const titleLength = 400

var notWords = regexp.MustCompile(`[^a-z0-9]+`)

// recognise names the licences that a text contains; a forbidden one is named with a leading "!".
func recognise(text string) []string {
	text = strings.TrimSpace(notWords.ReplaceAllString(strings.ToLower(text), " "))
	title := text[:min(len(text), titleLength)]
	var found []string
	for _, f := range forbidden {
		if strings.Contains(title, strings.ReplaceAll(f.title, "-", " ")) {
			return []string{"!" + f.name}
		}
	}
	for _, k := range known {
		if containsAll(text, k.phrases) {
			found = append(found, k.name)
		}
	}
	// The two-clause text is a part of the three-clause one.
	if slices.Contains(found, "BSD-3-Clause") {
		found = slices.DeleteFunc(found, func(name string) bool { return name == "BSD-2-Clause" })
	}
	return found
}

func containsAll(text string, phrases []string) bool {
	for _, p := range phrases {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// allowed says what is wrong with a module's licences, nil when nothing is.
func allowed(found []string) error {
	if len(found) == 0 {
		return errors.New("no licence was recognised")
	}
	for _, name := range found {
		if forbidden, ok := strings.CutPrefix(name, "!"); ok {
			return fmt.Errorf("its licence (%s) may not be linked", forbidden)
		}
	}
	return nil
}
