package child

// What the runtime hides from a program before it comes to run: it opens /dev/null where a standard descriptor is closed,
// and installs handlers over ignored signals. A program that is linked with -E clewx_entry looks before the runtime
// does; in others nothing is known to be closed, and only SIGHUP and SIGINT keep being ignored.
var (
	closedAtStart  uint64 // bit n: descriptor n
	ignoredAtStart uint64 // bit n-1: signal n
)
