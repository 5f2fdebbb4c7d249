// Package store keeps the ledger and the tables projected from it, on SQLite and on PostgreSQL, and runs the
// transactions of the dispatch contract. It decides nothing itself: every rule is asked of package dispatch, with facts
// that were read under the locks of the transaction that records the outcome.
//
// It must not talk to a node, read the environment, write a log line about what it was asked to keep, or see a
// plaintext configuration: artifacts arrive and leave encrypted.
//
// # Truth
//
// Entries are the truth. Each is appended to its scope under the scope's lock, and carries the hash of the entry before
// it. Every other table is a projection, written in the same transaction as the entry, and can be replayed: a record in
// an entry's body stands as it is after the entry.
//
// # Writing a transaction
//
// Everything hangs on a Tx, which update opens (one writer at a time on SQLite, row locks on PostgreSQL) after it has
// taken the locks that the caller named, in the one order that all transactions keep: machine scopes by id, plan,
// approval, identities, installation, rollout, other scopes by (kind, id). The time (Tx.Now) is read after the locks.
//
//	err := s.update(ctx, locks{machines: []string{m}, plan: p}, "the cancellation of "+p, func(tx *Tx) error {
//		actor, err := tx.acting(who, RoleAuthor)     // may they? read in the transaction that relies on it
//		...
//		rev, err := tx.next(machineScope(m))         // the revision that the next entry of this scope gets
//		...
//		e, err := tx.append(machineScope(m), dispatch.EntryPlanCanceled, actor, nil, dispatch.Body{...})
//		...
//		return tx.exec1(`UPDATE plans SET state = $1 WHERE id = $2`, state, p)
//	})
//
// Rules of SQL text: one text for both engines, parameters $1, $2, ... numbered in order of first use, only TEXT and
// BIGINT columns (times are microseconds since 1970 UTC, booleans 0 or 1, records JSON), row locks written as a final
// " FOR UPDATE", which SQLite does not see because there one writer runs at a time anyway. Arguments may be strings,
// integers, booleans and times (kinds thereof too); asJSON makes JSON text, and intoTime, intoBool and intoJSON scan
// back. A statement that fails spoils its transaction: it can no longer commit, on either engine. Rows must be read to
// their end (use all) before the next statement.
//
// # What commitments and attempts check besides
//
// Their locks are marked guarded. Before fn, the transaction fails when the store looks restored (the head file, which
// lies outside the database, saw more than the database shows, or another database) or when the clock is more than a
// second behind the machine's or the installation's last entry. After the COMMIT the head file is moved on and synced. A
// crash between the two only makes the file remember less. SyncHead does both once more right before a send.
//
// # Three answers
//
// A rule that said no is a *refusal.Refusal. A COMMIT whose answer was lost, or that reported an I/O error or a full
// disk, is a *refusal.Unknown: it may have happened. Every other error is a failure, and nothing was committed. Only
// engine_sqlite.go and engine_postgres.go read error codes.
package store
