// Package command is the command line: the table of commands, the wiring they share, and one file per command.
//
// [App] holds what a process finds around it (streams, environment, working directory, CLI configuration) and what is made from
// that once (printer, logger, interrupts). A [Command] is a value in a table; commands call functions such as openBackend or
// loadConfig and inherit nothing. Errors travel up as values and are printed in one place, [App.Run], which also gives the exit
// status.
//
// Invariants: no command reads os.Args, os.Stdout or the environment by itself: all of that is in App; a closed or full standard
// output never stops an operation; the first interrupt ends what runs in good order, the second at once, and both save the state
// and release the lock; nothing is printed twice.
package command
