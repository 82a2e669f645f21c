// Package statemgr keeps the state of one workspace durable, whatever store it is in. It is for commands: they open a manager, lock
// it, read the state, and while the engine works they pass on what it says; at the end they save.
//
// While an operation runs, each step that has started and each object that was stored is appended to a journal: a file beside a
// local state (NAME.journal), else in the data directory. The entry is written before the caller goes on, so a killed process
// loses nothing, and synced by one goroutine soon after, so a power cut loses at most the last moment. Whole snapshots are put
// into the store at intervals and at the end; then the journal goes. A journal that is found later, without a process that
// holds its lock (where there are no locks: without the process that it names), belongs to a run that was killed: Read replays it
// over the snapshot and tells which steps had started and never ended. Entries say what an object is, not how it changed, so
// replaying over a later snapshot of the same run is harmless.
//
//	Lock → Read → Begin → Started, Stored, Ended … → Save → Unlock
//
// State commands leave out Begin to Ended. Methods are safe for concurrent use.
//
// Invariants: the serial rises with each snapshot that is written, and one that would say the same as the present one isn't
// written; a journal is removed only after a snapshot that has everything in it; the final write and unlocking don't depend on the
// caller's context, which may be cancelled by then; nothing here waits for the engine, and the engine waits for one write(2) at most.
package statemgr
