// Package objects keeps states in object stores, such as S3. A driver implements [Client] with the
// four operations of its service and describes the names of its objects in a [Layout]. [New]
// returns a store that uses them.
//
// A state is one object. A lock is also an object. It holds the information about the lock's holder
// as JSON, and exists only while the lock is held. The lock is taken by creating the object under
// the condition that it is absent.
//
// Invariants: a snapshot is replaced only if the object has the version that was read, so a store
// never overwrites the write of another process, even without a lock. A write whose response was
// lost is recognized by reading the object: if it has the written content, the write has happened.
// A lock object is deleted only after its content has been read and compared with the ID.
//
// Operations take these numbers of requests: Get 1, Put and Swap 1, Lock 1, Unlock 2, List 1 for
// each page of the service. An operation that fails or finds the lock held takes up to two more.
package objects
