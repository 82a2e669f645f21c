// Package pg keeps states in a PostgreSQL database, one row per workspace, in the same table as
// OpenTofu's pg backend.
//
// Locks are PostgreSQL advisory locks. They belong to the database session, so a process that dies
// leaves none. A workspace is locked by a hash of its name and, once it has a row, also by that
// row's ID, as in OpenTofu. The application name of the session identifies the holder of a lock.
//
// Invariants: a store uses one session; if the session is lost, its lock is taken again before
// anything is written, and nothing is written if another session has taken it; a canceled context
// cancels the query, not the session.
package pg
