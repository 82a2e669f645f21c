// Package objects keeps states in object stores, such as S3. A driver implements [Client] with the
// four operations of its service and describes the names of its objects in a [Layout]; [New] makes
// a store from them.
//
// A state is one object. A lock is an object too, which holds the information about its holder as
// JSON and exists only while the lock is held. Creating it only if it is absent takes the lock.
//
// Invariants: a snapshot is replaced only if the object has the version that was read, so a store
// never overwrites the write of another process, even without a lock. A write whose response was
// lost is recognized by reading the object: if it has the written content, the write has happened.
// A lock object is deleted only after its content has been read and compared with the ID.
//
// Operations take these requests: Get 1, Put and Swap 1, Lock 1, Unlock 2, List 1 for each page of
// the service. One that fails or finds the lock held takes up to two more.
package objects
