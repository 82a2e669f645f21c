// Package s3 keeps states in Amazon S3 or a compatible store. The state of the default workspace is
// the object KEY, and the state of another workspace is the object PREFIX/WORKSPACE/KEY. A lock is
// the object KEY.tflock, an item of a DynamoDB table, or both. The table also holds a digest of
// each state.
//
// Invariants: a state is written only if the object still has the ETag that was read. With a table,
// a state is used only if its digest is in the table. The table gets the digest of a new state
// before the state is written, so a killed process can't leave a state without a digest. If there
// are two locks, they are taken in the same order as in OpenTofu: first the object, then the item.
//
// The number of requests for a plan is: one for the lock, one for the state, and two for unlocking.
// A table adds one request to each of these, or replaces the requests for the lock object. A write
// takes one request, or three with a table.
package s3
