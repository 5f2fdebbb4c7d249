// Package late measures what becomes of requests that were sent into a partition: whether they land, when, and whether
// one ever lands after it was accounted for by evidence.
//
// A trial is one send over a connection that stood before the partition. Nodes run in network namespaces of their own,
// and a partition disables a bridge port, so what arrives late does so by the kernel's own retransmission. Whether a
// request landed is read from the node's journal; what the sender believes counts for nothing. Evidence is gathered as an
// executor gathers it: the hops' sockets by package talos, then two readings on the route, five seconds apart, that agree.
//
// A control takes one condition of the evidence away. A condition whose control saw no landing after the accounting is
// named as not shown to matter; that is a statement about the trials, and no reason to do without it.
//
// It must not touch a store: what is measured is the network, and what the evidence makes of it.
package late
