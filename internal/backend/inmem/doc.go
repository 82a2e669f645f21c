// Package inmem keeps state snapshots in memory, for tests. They are lost when the process ends.
//
// Invariants: bytes are copied on the way in and out; a store is safe for concurrent use.
package inmem
