// Package oss keeps states in Object Storage Service of Alibaba Cloud, with locks and digests in
// Tablestore, in the layout of OpenTofu.
//
// The state of the default workspace is the object PREFIX/KEY, and that of another workspace is the
// object PREFIX/WORKSPACE/KEY. The row BUCKET/PREFIX/… of the table is the lock of a state, and the
// row whose key also ends with -md5 has the state's digest.
//
// Invariants: an object is replaced only if it still has the ETag that was read, which is compared
// before the write. With a table, only the process that holds the lock replaces an object, and only
// if the object has the digest that was read. Every write of a row has a condition.
package oss
