// Package terminal connects a command with its user: the standard streams, questions, interrupts
// and logs.
//
// Invariants: a command never fails because the reader of its output has closed it. A question
// is abandoned when its context ends. After the first interrupt, no new work begins, and reads are
// canceled. After the second one, running changes are abandoned.
package terminal
