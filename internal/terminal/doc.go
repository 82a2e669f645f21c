// Package terminal connects a command with its user: the standard streams, questions, interrupts
// and logs.
//
// Invariants: a command never fails because the reader of its output is gone; a question ends with
// its context; after the first interrupt nothing new begins; and after the second one running calls
// are abandoned.
package terminal
