// Package diff compares lists and texts.
//
// Invariants: the cost is linear in the length of the lists, within constant bounds; for short
// lists with few differences the result has the fewest edits.
package diff
