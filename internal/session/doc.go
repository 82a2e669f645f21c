// Package session runs a command in a working directory: it loads the configuration, opens the
// backend and the state, and starts providers, for all commands that need them.
//
// [New] creates a [Session], and the command line sets the rest of its fields. Methods load a
// configuration ([Session.LoadConfig]), open a state ([Session.OpenState]) or start an [Operation]
// of the engine ([Session.StartOperation]). Other types are parts of a session:
//
//   - [Dirs] knows the directories, and reads and writes the files in the data directory, such as
//     the record of the backend.
//   - [Encryption] evaluates the encryption settings once.
//   - [BackendSettings] holds a backend and its settings. stores opens the backend's store.
//   - [Location] is the place of a state. [OpenedState] is a state that was read and may be locked.
//   - packages knows which provider packages are installed. [Providers] starts and stops providers.
//   - remoteReader reads the outputs in other states for terraform_remote_state.
//   - asker asks for the values of variables.
//   - [SavedPlan] is a plan file, and knows how to open its operation.
//
// Invariants: a state is changed only while its lock is held. Completed changes are saved, whatever
// happens afterwards. Packages are checked against the lock file before they run. Questions are
// asked only if Input allows it.
//
// Functions return an error and add warnings to Session.Warnings, the only list of warnings in a
// run. So a caller can't lose a warning, and a returned error contains only errors. The command
// prints the list at a suitable point of its output, for example before a question. When the
// command ends, it prints the remaining warnings together with its error.
package session
