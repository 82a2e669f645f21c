// Package azurerm keeps states as blobs in a container of an Azure storage account.
//
// The state of the default workspace is the blob KEY, and that of another workspace is the blob
// KEYenv:WORKSPACE. A lock is an infinite lease on the blob. The blob's metadata describes the
// holder of the lock. Locking a state that doesn't exist creates an empty blob, which is treated as
// no state.
//
// Invariants: a write names the version that it replaces and, if this process has locked the state,
// the lease. The service therefore refuses the write if the lock was lost or another process has
// written the state. A version is the checksum of the content, because the ETag also changes when
// another process locks or unlocks. Metadata of other programs is kept. Errors never contain keys,
// tokens or signatures.
package azurerm
