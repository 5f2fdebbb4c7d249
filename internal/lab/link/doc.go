// Package link is the userland link of a lab: one process that listens on every node's public address, passes bytes
// on to where the node really listens, and can be told to keep, lose or delay them.
//
// Who is talking is known by the source address: an endpoint node dials from its own, everybody else is "client". A
// link is the ordered pair (from, to node); a fault belongs to one link. TCP is terminated here, so a sender's kernel
// sees its bytes acknowledged at once: what lies in a link lies in no socket queue. It must not look into the bytes.
package link
