// Package notice projects running acts onto the sessions whose own work lies on their path, and judges symptoms: is
// this failure somebody's known work? It is pure: time comes in as a parameter, and what is to be recorded, delivered
// or taken back comes out as entries. It delivers nothing, resolves no symptom, and grants nothing.
//
// A Book holds what is known: the graph's version, sessions with their interests, acts, and reports of symptoms. Each
// call puts one fact in, or lets time pass (Judge), and returns the entries that follow from it; Next says when time
// alone will change something. A Book belongs to one goroutine. It is rebuilt by putting the same facts in again and
// replaying what it said before (Replay), so that nothing is announced twice.
//
// Everything is indexed by node. An act is propagated once, when it or the graph on its way changes; its reach is
// looked up in the interests at its nodes, so a notice costs what it reaches. Effects of acts that run at once add up:
// what an act disturbs is a load on a redundant dependant, and an act that changes such a sum has its partners
// propagated again. Sums depend only on what lies above them, so the result is one and the same in any order.
//
// Reports of one symptom at one node join into bouts, spans of time in which it was there, whoever saw it. A verdict is
// a function of the bout, the acts whose reach carries that symptom to that node, and the time; it is computed anew
// whenever one of them changes, and an entry is made when it differs from the last. Hence the order in which facts
// arrive changes what is said on the way, and not what is true in the end. A bout that no act explains, or that is more
// than was allowed, escalates once, after two seconds. Escalations fold by cause: the act, an unclaimed act, a
// disturbed node above, or a node above that all of them have in common; texts are never compared. A fold is taken back
// once, from its receivers, when acts explain all of it.
//
// Two views of one bout differ only for an act's author: a Question is asked by a session, and the session's own work
// never explains its own failing command.
package notice
