// Package diff compares lists and texts.
//
// Invariants: the cost is at most linear in the length of the lists, because the search for the
// best result is limited; for short lists with few differences, the result has the fewest edits.
package diff
