// Package storetest is the conformance suite of state stores. A driver's own test opens stores and
// calls [Run].
//
// Invariants: the suite uses only the interfaces of package backend; optional features that a store
// lacks (workspaces, locks, swaps) are skipped and logged.
package storetest
