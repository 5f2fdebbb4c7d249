// Package bench measures what the store costs, on both engines: an operation from its plan to its end, a commitment with
// its attempt, a rollout over many machines, and verification. Every number stands beside what the same machine needs at
// least, measured in the same run, so that the ratios mean something on any machine. It holds tests only.
package bench
