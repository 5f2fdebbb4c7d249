// Package talos is the adapter to Talos nodes: it reads what a node shows, sends one configuration over one connection
// that never dials again, and says what the answer, or its absence, proves.
//
// It is the only place where Talos' answers are classified, by typed fields and by what the transport itself reports,
// never by the text of a message. It decides nothing else: whether to send, to retry or to account is the executor's,
// under the rules of package dispatch. It keeps nothing, retries nothing and knows no store.
//
// # What an outcome proves
//
// An answer counts only when its status came from the other side in a gRPC trailer. Accepted is an OK of exactly one
// node in mode no-reboot; rejected is a code of dispatch.DefinitiveRejections for the version read on the same
// connection; anything else is inconclusive. "Never left" comes from the connection below TLS: either the request was
// never handed to the transport, or the kernel took no byte since it was, and the connection is aborted so that it
// cannot take one later.
//
// # What sockets prove
//
// CannotArrive gathers the socket half of accounting by evidence: hop 1 is this host's socket and the next hop's view of
// it, hop 2 the endpoint's one connection to the node. Every condition is a named check in the evidence, and a condition
// that could not be read never holds.
//
// # Secrets
//
// Configurations travel in secret.Bytes only. Errors and response texts hold nothing that a node wrote but what
// ResponseText lets through, and nothing of a talosconfig but names of contexts.
package talos
