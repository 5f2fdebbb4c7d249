// Package lab makes, drives and removes a practice cluster on one machine: an endpoint (control-plane) node and
// workers, each a process of its own that speaks the real Talos API over mTLS on port 50000 of an address of its own.
//
// It exists so that everything that Clew says of real nodes can be tried, broken and watched without one. It must
// therefore never be kinder than a node: the order of checks and effects, the codes, the version counters and what is
// lost at a boot are those of Talos v1.13.6, and a fidelity test holds them. It knows nothing of Clew's own domain
// (no store, no plan, no operation) and nothing of the rest of Clew imports it but the commands and the drill.
//
// # Parts
//
//   - This package: addresses, certificates and configurations (cluster.go), the record of a lab on disk (record.go),
//     processes (process.go), network namespaces (netns_linux.go) and the handles that tests and commands use.
//   - lab/node: one node. Two servers with a real hop between them, as on a node: an apid that terminates mTLS and
//     routes with siderolabs/grpc-proxy, and a machined behind a unix socket that holds COSI state, applies
//     configurations and runs sequences. A reboot executes the process image anew, so that nothing in memory (version
//     counters, bookmarks, boot id, latches) can survive by mistake.
//   - lab/link: a process that terminates TCP between client or endpoint and node and injects faults.
//
// # Links
//
// None: nodes listen on their loopback address. Userland: the link process listens there and every byte passes
// through it; who is talking is known by source address. Faults are placed exactly and need no privilege, but TCP is
// terminated on the way, so the kernel's own retransmission is not what is seen. Netns: every node in a network
// namespace of its own, joined by a bridge in another one; a cut disables a bridge port, so frames vanish silently
// and late deliveries are TCP's own. Needs root.
//
// # Life
//
// Up starts everything in sessions of their own, so that a lab outlives the command that made it, and records each
// process by id and start time. Down ends exactly the recorded processes and removes exactly the recorded namespaces,
// also after a crash of anything, itself included. With Config.Tied a keeper process does the same as soon as the
// process that called Up has ended for any reason.
//
// # On disk
//
// Config.Dir (mode 0700): lab.json, talosconfig (contexts of the three roles), and nodes/NAME with
// platform.yaml (what a node boots from when its STATE is empty), state/ (STATE: config.yaml, node-identity.yaml),
// meta.json (installed versions), pki/, applies.jsonl (one line an ApplyConfiguration event, kept across reboots and
// kills: the count that independent readers use) and log. Sockets live in a short-named directory under the
// temporary directory, because socket paths are limited to about a hundred bytes.
package lab
