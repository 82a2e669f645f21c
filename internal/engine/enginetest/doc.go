// Package enginetest runs engine sessions written as text: configurations, plans, the order of
// calls, and states.
//
// The package is for tests of the engine. [Provider] is a small, working provider that keeps its
// objects in memory. [Run] executes a txtar archive whose sections are steps, and returns the
// results as text to compare with the golden sections. [DrawHistory] draws a random sequence of
// configurations with failures, for property tests.
//
// Invariants: results do not depend on time, randomness or the order of goroutines. Calls are
// listed in the order in which they happened, and everything else is sorted.
package enginetest
