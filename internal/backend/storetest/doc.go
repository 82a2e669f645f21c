// Package storetest is the suite that every backend's store must pass. A driver's own test opens stores and calls [Run].
//
// Invariants: the suite uses nothing but the interfaces of package backend; what a store doesn't offer (workspaces, locks, swaps)
// isn't asked of it, and the log says so.
package storetest
