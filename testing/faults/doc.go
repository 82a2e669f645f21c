//go:build unix

// Command faults interrupts applies at random moments and counts what the
// engine forgot. It is for whoever changes how state is kept:
//
//	go run ./testing/faults -bin bin/tofu -mirror build/mirror -runs 10
//
// Each run lets the files provider create, update or delete a number of slow
// files, sends one signal (or closes the reader of the output) somewhere on the
// way, and compares what the engine says it knows with what is on disk. A file
// is lost if it was written before the process ended (for KILL: 0.1 s before
// the signal) and the engine does not know it as it is; a ghost is a file that
// the engine lists although it is gone. A run also fails if the next apply does
// not go through without help, or something is left to do after it.
//
// Invariants: it knows the program only by its command line; what happened is
// judged by the files alone, never by what the program printed on the way.
package main
