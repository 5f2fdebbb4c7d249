// Package node is one lab node: an apid in front (mTLS, routing with siderolabs/grpc-proxy) and a machined behind it
// on a unix socket (configuration, COSI state, sequences, events, sockets), with the order of checks and effects of
// Talos v1.13.6.
//
// A node must not know of links, of other nodes' processes or of Clew. What it does wrong on purpose is asked for
// over its control socket (Faults) and never happens by itself. One run of Run is one boot: a reboot executes the
// process image anew under the same process id.
package node
