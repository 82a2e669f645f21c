//go:build unix

// Command faults injects faults while the engine runs and counts the objects that it loses:
//
//	go run ./testing/faults -bin bin/tofu -mirror build/mirror -kinds calls,space -every 10
//
// The engine creates, updates or deletes a number of files with the files provider. There are these
// kinds of faults:
//
//	signals   a signal at a random time, or the reader of its output closes the pipe
//	calls     a kill at each provider call in turn
//	space     each possible amount of free space in turn on the disk with state, journal, plan and
//	          lock file, so that each write is the first to fail in one run; or the disk fills up at each
//	          provider call in turn
//	requests  a failure of each request to a remote state in turn
//	stores    a failure of each request to a real object store in turn: a kill before and after it, an
//	          error, a silent service, a lost response, a response that is cut off
//	postgres  at random times of runs with the backend postgres: a kill of the program, of the server
//	          or of one of its processes, connections that are dropped, statements that time out, a
//	          server that stays away until the run has ended, and a failover to a standby
//
// Afterwards the engine's state is compared with the files on disk. A file is lost if it was
// written before the process ended, but its content is not in the state. For a KILL at a random
// time, only files written at least 0.1 s before the kill are counted. A ghost is a file that is in
// the state but does not exist. There is one exception: if a run with the backend postgres was
// killed, the next plan reports interrupted steps, and the files of these steps are not counted. A
// run has also failed if the next run does not succeed without manual intervention.
//
// Invariants: the program is only used through its command line. Results are judged by the files,
// not by the program's output.
package main
