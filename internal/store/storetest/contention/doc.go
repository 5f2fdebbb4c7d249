// Package contention lets many processes work on one store at once and checks what they saw: that every call seems to
// happen at one moment between its beginning and its end, that nothing is lost, and that nobody starves. Tests only.
package contention
