// Package postgres keeps states in a PostgreSQL database, one row per object.
//
// It is a [statemgr.Ledger]: the state manager reads a state as of one moment, records each step of
// an operation in its own transaction, and writes only what changed. State files are assembled from
// rows and split into rows. File schema/0001.sql explains the tables. File schema/0002.sql explains
// the views, which are stable, and the rights of other roles.
//
// Runs that change disjoint parts of a workspace run at the same time. Before its first change, a
// run claims what it writes and what it has read (see [plans.Footprint]). The claims are removed
// when the run ends. The run renews a lease. After the lease expires, other runs may end the run.
// Each transaction of a run checks that the run has not ended, and that its row still has the
// fencing number that the run got when it was registered.
//
// Invariants: a transaction that changes a workspace locks its row first and increments its
// revision, so these transactions are ordered, and a run takes all its claims at once. Nothing
// depends on a database session, so a pooler may assign transactions to connections. A transaction
// can be repeated: it writes the same rows again.
package postgres
