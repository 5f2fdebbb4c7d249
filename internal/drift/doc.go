// Package drift compares what Git says with what runs, field by field, and says of each difference what it is, which tool
// wrote it, and what Flux' next reconcile will do to it. It is pure: it gets plain trees, times and records as values and
// gives values back. Rendering, reading a cluster, parsing documents and keeping records are other packages' work.
//
// Three sides. Every Subject (one object) has a head, an applied and a live Side. A Side is unread until somebody says
// that the object is there or is not; an error is a reason, and nothing is concluded from it. The answer to anything that
// rests on an unread side is the class unknown, never in-sync.
//
// Comparison (compare.go) walks head and live together along the schema. What the API fills in, drops, reorders or writes
// differently is no difference. A field that only the cluster has is one exactly if managedFields names an owner for it:
// the server and admission webhooks fill in fields without owning them, and every client that writes one does own it.
// Without managedFields such a field is unknown, unless its place is one in which nothing is ever filled in.
//
// The forecast (forecast.go, package apply) repeats the controller's server-side apply on the object as it was read: take
// over what kubectl's managers own, merge, prune, and compare. Where that cannot be decided from what is at hand, the
// forecast is unknown with the reason, and a dry-run can be asked. A field that Flux alone owns, at a revision that it has
// applied, and that yet differs is such a case: admission may have changed it, or a substitution has changed since.
//
// Classification (classify.go) gives a difference the first class that fits, in the order of the constants. Records (kept
// differences) and recorded acts cover a field only with the value they were made for.
//
// Secrets. The value of a difference is Plain, Redacted or Absent. Values of Secrets and of what SOPS encrypted become
// Redacted where the difference is made, and Redacted has no way back: what writes takes Plain.
//
// Invariant: an object whose class is neither in-sync nor unknown has at least one visible difference.
package drift
