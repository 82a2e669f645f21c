// Package pg keeps states in a PostgreSQL database, a row for each workspace, in the table that OpenTofu's backend of that name uses.
//
// Locks are PostgreSQL's advisory locks. They belong to the database session, so a process that dies leaves none. A workspace is locked
// by a hash of its name, and from when it has a row by that row's ID as well, where OpenTofu looks for the lock. Who holds a lock is told
// by the session's application name.
//
// Invariants: one session serves a store; when it breaks off, the lock it had is taken again before anything is written, and nothing is
// written when somebody else was faster; a cancelled context cancels the query and not the session.
package pg
