// Package journal keeps what a session's wrappers saw until it is delivered: one append-only file per session, a record
// a line, each with its checksum. Writers share the file without a lock: a record is one append, and begins with a line
// end, so that it stands apart from a torn one before it.
//
// What a crash at each step means, in the order in which a command is recorded:
//
//	before the begin record           the command did not run
//	within it                         a torn line, which readers skip; the command did not run
//	after it, before the command      an act that nobody saw end: unknown, though nothing was done
//	while the command runs            an act that nobody saw end: unknown
//	within the end record             as before; the end is a torn line
//	after it                          nothing is missing
//
// That a wrapper is no more shows by its lock: each holds one byte far beyond the file's end, which the system lets go
// with the process, however it ended.
//
// A reader (Deliver) hands on each record once, in the file's order. Its cursor moves after the record was taken: who
// crashes between the two is handed the same record again, under the same key.
package journal
