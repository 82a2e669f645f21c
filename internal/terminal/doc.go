// Package terminal connects a command with its user: the standard streams, questions, interrupts
// and logs.
//
// Invariants: a command never fails because the reader of its output has closed it. A question
// is abandoned when its context ends. After the first interrupt, no new work begins. After the
// second one, running calls are abandoned.
package terminal
