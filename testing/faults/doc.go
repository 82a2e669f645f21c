//go:build unix

// Command faults lets things go wrong around the engine and counts what the
// engine forgot. It is for whoever changes how state is kept:
//
//	go run ./testing/faults -bin bin/tofu -mirror build/mirror -kinds calls,space -every 10
//
// The engine creates, updates or deletes a number of files with the files
// provider, and meanwhile
//
//	signals   it gets a signal at a random moment, or the reader of its output goes away;
//	calls     it is killed at every single call of its provider in turn;
//	space     the disk with state, journal, plan and lock file has every amount of room in turn, so that
//	          each write is once the first to fail, or fills up at every single call;
//	requests  every single request to a remote state fails in turn.
//
// Then what it says it knows is compared with what is on disk. A file is lost
// if it was written before the process ended (for a KILL at a random moment:
// 0.1 s before it) and the engine does not know it as it is; a ghost is a file
// that the engine lists although it is gone. A run also fails if the next one
// does not go through without help.
//
// Invariants: it knows the program only by its command line; what happened is
// judged by the files alone, never by what the program printed on the way.
package main
