// Package statemgr keeps the state of one workspace durable in any backend store. Commands open a
// [Manager], lock and read the state, pass on the events of the engine while it works, and save the
// final state.
//
// During an operation, each started step and each stored object is appended to a journal: the file
// NAME.journal beside a local state, or a file in the data directory for other stores. An entry is
// written before the caller continues, so a killed process loses nothing. It is synced soon after,
// so a power cut loses at most the last moment. Snapshots of the whole state are written to the
// store at intervals and at the end, and then the journal is removed.
//
// A journal whose lock no process holds belongs to a run that was killed. (Without file locks the
// process named in the journal decides.) Read replays such a journal over the snapshot and reports
// the steps that started but never ended. Entries hold whole objects, not differences, so replaying
// one over a later snapshot of the same run is harmless.
//
//	Lock → Read → Begin → Started, Stored, Ended … → Save → Unlock
//
// State commands leave out the steps from Begin to Ended. Methods are safe for concurrent use.
//
// Invariants: the serial increases with each snapshot, and a snapshot equal to the stored one is
// not written. A journal is removed only after a snapshot with all its contents was written. The
// final write and the unlocking ignore the cancellation of the caller's context. The manager never
// waits for the engine, and the engine waits for at most one write(2).
package statemgr
