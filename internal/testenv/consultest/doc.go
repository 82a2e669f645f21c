// Package consultest serves Consul's HTTP interface for the key-value store, for transactions and
// for sessions, in memory. It covers what a client can observe according to Consul's documentation:
// indexes, check-and-set, acquire and release, lock delays, blocking queries, expiry of sessions,
// and size limits. It is for tests only.
//
// Invariants: each change has its own index, which is greater than all earlier ones. A key that is
// held by a session is released when that session ends, and can't be acquired before the lock delay
// is over.
package consultest
