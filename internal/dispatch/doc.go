// Package dispatch is the contract under which an approved Talos configuration reaches a machine: the values, the
// state table of an operation, the numbered comparisons of the commitment and the attempt, and the rules that account
// for a send whose answer was lost. It is pure: no clock, no store, no network; callers hand in what they read under
// their locks and persist what they get back.
//
// Two transactions frame every send. The commitment (C) creates the operation; the attempt (A) is recorded before each
// send. Between them and after them nothing is guessed: an outcome that nobody saw keeps the machine's scope held.
//
// Invariants. The line that enforces one says "// I3", a database constraint is named i3_..., a test TestI3...:
//
//	I1  At most one operation per machine is uncertain.
//	I2  No request without an earlier commitment and attempt on the same timeline; no attempt by a non-owner; no request
//	    is sent after its attempt was accounted for.
//	I3  Applied follows evidence only.
//	I4  Plans do not change.
//	I5  Scope and slot are released only on a terminal state, never with an unaccounted attempt.
//	I6  Absence of evidence classifies nothing.
//	I7  No plaintext secret reaches the store, a log, a transcript or an error.
//	I8  Nothing from another epoch authorizes.
//	I9  The assignment does not change while the scope is held.
//	I10 No C or A through a closed gate.
//	I11 Only a named identity decides; its basis is recorded.
//	I12 One operation per plan, from commitment on.
//	I13 No attempt is recorded after a committed revocation of its approval or identity.
//	I14 Every C and A met comparisons 2 and 3 at its revision.
//	I15 At each commitment, the open operations of its rollout, itself included, do not exceed the limit then in force.
//	I16 Attempts never exceed the bound maximum.
//	I17 No retry after a newer response, takeover or reclassification.
//	I18 No attempt of an expired or cancelled plan.
package dispatch
