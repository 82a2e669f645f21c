// Package backend says what a place that keeps state snapshots can do, and how its configuration is read.
//
// A [Driver] opens a [Store] from a backend block; the packages below this one are the drivers, and package all lists them. The
// state manager does everything that is the same for all of them: serials, lineage, encryption, waiting for locks, the journal.
// So a driver moves bytes: it doesn't know what is in a snapshot.
//
// Invariants: a Put either replaces the whole snapshot or leaves the old one; a snapshot that is absent and one that is empty are
// different things; a lock belongs to the ID it was taken with; a store is safe for concurrent use.
package backend
