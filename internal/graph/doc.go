// Package graph is the versioned resource graph: what depends on what in a cluster, and how a disturbance at one end of
// an edge shows at the other. It is pure; discovery and YAML are read by others, which hand in specifications or plain
// trees. It knows neither acts nor sessions, and it judges no symptom.
//
// Nodes are named kind/cluster/name (node/prod/cp-2, etcd/prod, deploy/prod/shop/web); kinds, effects and symptoms are
// short shipped lists (kinds.go, vocabulary.go). An edge goes from cause to dependant and carries rules: an effect that
// arrives at its cause shows at its dependant as a symptom, at the latest after a delay, for a longest time and with a
// tail, and goes on from there as an effect of its own, or ends. A rule that counts against redundancy has two
// outcomes: one while the dependant tolerates the number of disturbed causes of that kind, and one beyond it.
//
// A Version never changes, and its Digest covers everything in it: equal digests are equal graphs, however they came
// about. Two tables make it cheap to derive one from another: vertices lie in pages, addressed by a number that stays
// the same in all descendants of a version, and names lie in a fixed tree of 64 times 64 buckets, ordered by hash, whose
// inner sums form the digest. Apply copies the pages and buckets that it touches and shares all others, so a change
// costs what it touches, and so does Diff. Following an edge is two array look-ups; that is why propagation costs what
// it reaches and not what the graph holds.
//
// There are no cycles, or propagation would have no end and redundancy no order in which it can be counted. Apply
// refuses them, with unknown kinds, self-edges, edges that hang in the air and things said twice; each Problem names
// the file and line, or whoever discovered it. Discovery can meet cycles that are real (Flux runs on what it manages):
// Build leaves out discovered edges that close one, and says which.
//
// Propagate follows one disturbance in topological order. Loads brings in what other running acts disturb, so that two
// nodes that are away for different reasons add up before etcd's tolerance is judged; what holds only while they
// overlap carries those spans of time. Beyond tolerance both outcomes hold, since an outage begins as a leader change:
// hence more disturbance never takes an expectation away, and the result depends on no order. Rules bound how far an
// effect goes; MaxDepth is only a last resort.
//
// One kind of edge is not stored, since every object would have it: who works on anything in a cluster goes through its
// API server. It is the last hop of a path, and carries nothing further (Accessed).
package graph
