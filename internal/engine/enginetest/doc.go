// Package enginetest runs engine sessions that are written as text: configurations, what is
// planned, the order of calls, the state.
//
// It is for the engine's own tests. [Provider] is a real, if small, provider that keeps its objects
// in memory; [Run] takes a txtar archive whose sections are steps, and gives what each of them did
// as text to compare with the golden section of the same name.
//
// Invariants: nothing here depends on time, chance or the order of goroutines: calls are listed in
// their real order, everything else is sorted.
package enginetest
