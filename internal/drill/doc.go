// Package drill proves the dispatch contract on a live system: `clew lab drill`.
//
// A row is one case of the contract with its expectation written beside it, before it ever runs. The drill makes the
// case happen, with real executor processes, real nodes of a lab and a real database, and then lets independent readers
// say what became of it. What an executor says of itself judges nothing. A mismatch is recorded and never retried; a
// reading that could not be had makes the cell an error and never a success; a control that does not show the failure
// makes the whole run no evidence.
//
// # Adding rows
//
// Make a file rows_NNN.go that registers its rows in an init function:
//
//	func init() {
//		register(Row{
//			ID:     "004",
//			Case:   "revoked between commitment and attempt",
//			Expect: "plan=committed; states=committed, unresolved, cancelled; refused=attempt 1; attempts=0; landings=0; a.exit=3",
//			Script: func(s *Stage) {
//				p := s.Plan("")
//				a := s.Dispatch("a", p, GateCommitted)
//				a.Reaches(GateCommitted)
//				s.Revoke(p)
//				a.Opens(GateCommitted)
//				a.Ends()
//			},
//		})
//	}
//
// Each row has, on each store and net, a ledger of its own with Machines workers imported and their configuration
// accepted; the workers are lent from a lab that several rows share, unless OwnLab is set (a row that breaks the endpoint
// or takes long to restore). Rows whose IDs begin with the same number are a group: they run one after the other on the
// same workers, with one transcript; groups run side by side. A helper of Stage that cannot do what it is asked ends the
// script, as a test helper does, and the cell is an error. Scripts therefore read straight down and handle no errors.
//
// # Expectations
//
// An expectation is a list of clauses, separated by semicolons, about readings by name:
//
//	attempts=1           the reading is exactly this
//	operation=a|b        one of these
//	landings>=1          a number, at least (also <=)
//	seen:generation      the reading must exist; its value is recorded, not judged
//
// The values of a list are separated by ", " in the reading. After the script the readers are asked of every plan that it
// made, and their readings carry the plan's name: Plan("B") gives B.attempts; Plan("") gives attempts. They are, from the
// database (sql/plan.sql): plan, operation, states, generation, attempts, stale-attempts (recorded by an executor that had
// lost ownership), accepted, responses, accounted, refused ("attempt 1", "commitment 0", ...; "none"), revocation (where it
// fell by revision: none, "before commitment", "before attempt", "after attempt"), attempts-after-revocation, drift. From
// the node, as its own counters and a client of the drill's own show them: landings (all on the machine since the row
// began; with a plan's name: those of its bytes), runs (the name of the plan whose bytes are active, "before" or "other";
// the plan without a name is "planned"), persistent (the same of that resource; "absent"), answered (codes of applies).
// From the processes: NAME.exit of every executor, an exit code or "killed". A script adds readings of its own with Set,
// from a reader and never from an executor's words.
//
// # Interleavings
//
// An executor is started with gates armed; it stops at an armed gate until it is opened, however long. Gates are files: a
// gate that cannot be checked is an error of the executor, never "not armed". No script sleeps: it waits for a gate, the
// end of a process, or a reading (Until). An armed gate acts once; Arms arms it again.
//
// # Controls
//
// A row with Without takes guards away, in all their layers, for its whole ledger; Guarded starts an executor that keeps
// them. Control says that the expectation describes the failure that the guard prevents. An unknown guard is an error.
//
// # Machines
//
// After each row links are healed, knobs reset and dead or paused nodes brought back. Nothing else is: a row that leaves a
// pending try or another address behind asks for OwnLab, and is the last of its group. Only rows that say so (Needs) break
// links, nodes or the database. Takes is about how long a row waits, so that the longest start first.
//
// A row plays on the stores and over the links that it names (Stores, Nets; both by default). One that is for network
// namespaces only makes every run without them a partial one. Where they are not offered its cells are skipped, with the
// reason.
//
// # A machine of the user's own
//
// With Real, rows without Needs, for one machine, play on a Talos worker that the drill did not make, one after the other
// (NetTalos). It has no journal: clauses about answers and about the landings of one plan fall away (expectOn), and what
// needs more than the change of a label ends the script with labOnly, which makes the cell a skipped one. The original
// bytes are put back however the run ends.
//
// # Evidence
//
// The directory of a run holds run.txt, expectations.tsv (written before anything runs), cells.tsv, transcripts/ (one a
// group; its READING lines are written when the reader reads, and cells.tsv is compared with them), ledgers/ (every row's,
// exported), injections.log, leak-scan.tsv with what was planted for it, and manifest.tsv. Verify needs nothing else. It
// judges by the rows of its own program, so it knows an expectation that was changed on either side. Ledgers of rows with
// all their guards must hold whole; those of controls must have whole chains, and break invariants by intention.
//
// # What a script may use
//
// Stage: people and plans (Plan, Terms, Revoke, ...), processes (Dispatch, Settle, Clew), faults (Link, Node: each is one
// begin and one done line in injections.log), readers (Query, ReadNode, Waiting). The author, the approver and the revoker
// act through a store of the drill's own process (Ledger), as a colleague's clew would; readers never do.
//
// The package must not decide what the contract means, must not be imported by anything but the command line, and must
// not touch a store that it did not make: executors with gates or without guards refuse any other.
package drill
