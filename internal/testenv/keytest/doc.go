// Package keytest is the conformance suite of key providers. A driver's own test opens providers
// and calls [Run].
//
// Invariants: the suite uses only the interface of package encryption.
package keytest
