// Package consultest serves Consul's HTTP interface of the key-value store, of transactions and of
// sessions, in memory, as far as its documentation describes what a client of these can observe:
// indexes, check-and-set, acquire and release, lock delays, blocking queries, expiry of sessions
// and the limits of sizes. It is for tests only.
//
// Invariants: each change has an index of its own, greater than all before; a key that is held by a
// session is released when that session ends, and can't be acquired before the lock delay is
// over.
package consultest
