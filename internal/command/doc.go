// Package command implements the command line: the table of commands, the code that they share,
// and one file per command.
//
// [App] holds the environment of the process (streams, environment variables, working
// directory, CLI configuration) and what is created from it once (printer, logger, interrupts).
// A [Command] is a value in a table. Its work is done by functions and small types in its file,
// which take the session and not the whole App where that is enough. Errors are returned as values
// and printed in one place, [App.Run], which also prints any remaining warnings and returns the
// exit status.
//
// Invariants: commands access streams and the environment only through App and its session. A
// closed or full standard output never stops an operation. The first interrupt lets running work
// finish, the second stops it at once, and both save the state and release the lock. Nothing is
// printed twice.
package command
