// Package oss keeps states in Object Storage Service of Alibaba Cloud, with locks and digests in
// Tablestore, in the layout of OpenTofu.
//
// The default workspace is the object PREFIX/KEY, another one PREFIX/WORKSPACE/KEY. The row
// BUCKET/PREFIX/… of the table is the lock of a state, the row with -md5 at its end has the digest.
//
// Invariants: an object is replaced only if it still has the ETag that was read, which is compared
// before the write; with a table, only by the process that holds the lock, and never one whose
// digest isn't the one that was read. Rows are written under conditions.
package oss
