// Package inmem keeps state snapshots in memory. It is for tests: what it holds is gone when the process ends.
//
// Invariants: bytes are copied on the way in and out; one store may be handed to many users.
package inmem
