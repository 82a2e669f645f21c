// Package keytest is the suite that every key provider must pass. A driver's own test opens providers and calls [Run].
//
// Invariants: the suite uses nothing but the interface of package encryption.
package keytest
