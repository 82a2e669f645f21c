// Package s3 keeps states in Amazon S3 or a store that speaks its protocol. The state of the
// default workspace is the object KEY, that of another one PREFIX/WORKSPACE/KEY. A lock is the
// object KEY.tflock, an item of a DynamoDB table, or both. The table also holds a digest of each
// state.
//
// Invariants: a state is written only if the object still has the ETag that was read. With a table,
// a state is used only if its digest is in the table; the table has the digest of the new state too
// before that is written, so that a killed process can't leave a state without a digest. Both locks
// are taken in the same order as OpenTofu does: the object, then the item.
//
// The requests of a plan are: the lock (1), the state (1), the unlocking (2). A table adds one to
// each of them, or replaces those of the lock object. A write takes one request, or three with a
// table.
package s3
