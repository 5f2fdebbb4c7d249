// Package act holds what the notices pillar knows of people and agents at work: sessions, the work they declare, the
// commands that were observed, and what such a command line means. It is pure: environment, process lists and parsed
// configuration files are handed in; nothing here reads a file, a clock or the network.
//
// Three rules hold everywhere. What was observed and what was claimed are two layers that are never merged. What is not
// understood of a command line is unknown, never read. What is recorded of a command line is on an allow-list and has
// the shape that its place allows; everything else is replaced by an ellipsis.
//
// The package knows no graph: targets and symptoms are plain names, which the caller maps and checks.
package act
