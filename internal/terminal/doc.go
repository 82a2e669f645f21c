// Package terminal is the user's side of a command: the standard streams, questions, interrupts and
// logs.
//
// Invariants: output that no reader takes any more never fails a command; waiting for an answer
// ends with its context; and after the first interrupt nothing new begins, after the second nothing
// is waited for.
package terminal
