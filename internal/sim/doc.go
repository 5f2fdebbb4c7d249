// Package sim runs histories: the real store, on SQLite or PostgreSQL, and real executors beside people, nodes, networks,
// clocks, crashes and restores that are made up, one small step after the other. After every step every invariant of
// package dispatch is checked. Tests use it, and the drill runs its scripts.
//
// # Data
//
// A history is a list of commands in words (Sim.Do). A script is one that somebody wrote: testdata/histories, rewritten
// with -rewrite. A random history is made up from a seed (Random) out of the same commands, so that one that does not
// hold prints itself as a script. A Place is a database that many histories use one after the other: each begins with
// four people, three machines that accepted configuration c0, and no process.
//
// # States
//
// A process is an executor.Executor in a coroutine. It stops before every call to the store that writes or that a
// decision rests on, before its send guard, and while it waits for an answer; in between anything may happen. Direct
// commands (attempt, classify, finish, ...) ask the store for one thing as a process would that keeps no order at all, so
// that only the store's own rules stand against it. Time stands still but for a tick at each command; PostgreSQL gets a
// clock_timestamp() of its own. A request that left is in the sender's kernel, on its way beyond, landed, rejected or
// dropped. An abort empties the kernel and nothing else.
//
// # Who judges
//
// Entries are read past the store's code and handed to dispatch.Follower, which decides by the recorded history alone.
// Beside it stands the world as it is: a request leaves only if the ledger, at that moment, shows its attempt as the
// sender's own, unaccounted and inside the send window (I2); no two operations of a machine have requests that can
// arrive (I1); what counts as applied was really run (I3); an operation that ends leaves no request behind (I5); what was
// shown to be unable to arrive never does (I6); no entry holds a configuration (I7). A decision of a person is exempt: it
// is a judgement, and never a bound. Some histories end with the shipped check of the whole store.
//
// # Failure modes
//
// A call to the store fails, or loses its answer after or before it took effect; a process is suspended, crashes, or its
// host's store is opened anew; a connection breaks before the first byte; a request or its answer is lost, late, or heard
// after somebody else took over; clocks are set forward and back; a backup is put back under running processes.
//
// # Not modelled
//
// Transactions are whole: what happens inside one, between two that run at once, is the business of the store's own
// tests, and so is what a failing disk or server makes of a COMMIT. Between the send guard's last look and the first byte
// nothing happens: that gap is stated as a residual by the contract. The sockets' evidence is taken to be true.
package sim
