// Package executor drives dispatch: it gathers evidence, commits, records the attempt, sends, records the outcome,
// verifies, and settles what stayed unresolved. The rules are in package dispatch and are enforced by the store's
// transactions; the executor decides nothing by itself, and after a send it guesses nothing.
//
// What a crash means at each step, and what the next executor finds:
//
//	evidence    nothing is recorded but reads: the plan is still approved, another executor runs it.
//	committed   an operation without an attempt: taken over, then retried (--retry) or cancelled.
//	attempt     an attempt that may have been sent: unresolved until it is accounted for.
//	send        the same; the bytes may sit in a kernel's queue and arrive later.
//	response    the same: the answer was seen by nobody who could record it.
//	verifying   accepted and accounted for: a new observation completes or contradicts it.
//
// The caller may leave at any time: from the attempt on, recording does not end with the caller's context.
package executor
