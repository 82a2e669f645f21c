// Package session is one run of a command in a working directory: it loads the configuration, opens
// the backend and the state, and starts providers, for all commands that need them.
//
// A [Session] is made by [New] and completed by the command line. Methods load a configuration
// ([Session.LoadConfig]), open a state ([Session.OpenState]) or start an [Operation] of the engine
// ([Session.StartOperation]).
//
// Invariants: a state is changed only while its lock is held, and what was changed is saved,
// whatever happens after; packages are checked against the lock file before they run; questions are
// asked only if Input allows it.
//
// Functions return an error and add warnings to Session.Warnings, the one list of the run. So no
// caller can lose a warning, and a returned error holds errors only. The command prints the list
// where its output has a place for it, for example before a question. What is left is printed with
// the command's error when it ends.
package session
