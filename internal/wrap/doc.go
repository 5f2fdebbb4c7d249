// Package wrap is what stands before kubectl, talosctl, flux, helm and their like: it runs the tool as the caller would
// have, and keeps what was done. A shim is a link to clewx, or a tiny script that runs it, named after the tool, in a
// directory that stands first in PATH.
//
// A command goes through these states, each followed by what a failure or a crash right there means:
//
//	found       the tool lies further down in PATH; shims are passed over, and so are the candidates that wrappers above
//	            this one, of the same command, have tried: a version manager cannot lead in a circle.
//	            Not found: 127, as a shell says it.
//	understood  by a recogniser; what it does not understand is unknown, and recorded like a change. A command that
//	            touches no cluster is run and forgotten.
//	recorded    one record is appended to the session's journal, and for all but reads synced. That fails: the command
//	            runs, and the session is told once that it is not recorded. Crash: see package journal; an act whose
//	            command did not run ends as unknown, which it is to everybody else.
//	running     the tool is a child in this process' group, with its descriptors (package child). Crash: the tool runs on,
//	            and its act ends as unknown.
//	ended       the exit is appended, without a sync: after a power failure the act ends as unknown.
//	explained   the command failed, and a notice touches its target, or its status can mean that the target was not
//	            reached: the target is probed, and package notice judges by the situation that is kept (package
//	            situation). One line, the last of stderr. Whatever fails here costs the line and nothing else.
//
// The wrapper refuses nothing, retries nothing, and holds nothing up but for the record before and the probe after. It
// writes to stderr and nowhere else, and on success never, but once in a session to say that something is not recorded,
// and on a terminal before a command whose target a notice concerns.
//
// It talks to no server of its own: it reads what others keep for it, and others deliver what it wrote (journal.Deliver).
package wrap
