// Package backend defines the interface of state storage and decodes its configuration.
//
// A [Driver] opens a [Store] from a backend block. The packages below this one are the drivers;
// package all lists them. The state manager implements everything that is common to all drivers:
// serials, lineage, encryption, waiting for locks, and the journal. A driver just stores bytes and
// doesn't know the content of snapshots.
//
// [Client] returns the connections or credentials that stores with equal settings share. A run over
// many root modules has one [Clients].
//
// Invariants: a Put either replaces the whole snapshot or leaves the old one; an absent snapshot
// differs from an empty one; a lock is released only with the ID that Lock returned; a store is
// safe for concurrent use.
package backend
