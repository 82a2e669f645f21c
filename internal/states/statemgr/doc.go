// Package statemgr keeps the state of one workspace durable in any backend store. Commands open a
// [Manager], lock and read the state, pass on the events of the engine while it works, and save the
// final state.
//
//	Lock → Read → Begin → Started, Stored, Ended … → Save → Unlock
//
// State commands leave out the steps from Begin to Ended. Methods are safe for concurrent use.
//
// # Parts
//
// A destination is where the state is kept, and a recorder records an operation for it. There are
// two pairs. In a store of whole states (snapshots), a journal records the operation
// (journalRecorder). A [Ledger] (parts) keeps the parts of a state one by one and records each step
// in a transaction (ledgerRecorder), so it needs no journal.
//
// The journal is the file NAME.journal beside a local state, or a file in the data directory for
// other stores. An entry is written before the caller continues, so a killed process loses nothing.
// It is synced soon after, so a power cut loses at most the last moment. Snapshots of the whole
// state are written to the store at intervals and at the end, and then the journal is removed.
//
// A journal whose lock no process holds belongs to a run that was killed. (If the file system has
// no locks, the journal belongs to a killed run if the process named in it is not running.) Read
// replays such a journal over the snapshot and reports the steps that started but never ended.
// Entries hold whole objects, not differences, so replaying one over a later snapshot of the same
// run is harmless.
//
// # Doubts
//
// A step that was started and whose outcome is unknown is in doubt: its run was killed, or its
// provider gave no usable answer. Save adds the steps that Ended was not called for to those that
// are known, and removes the settled ones. A snapshot lists them; a ledger keeps their records.
//
// # Invariants
//
//   - Journal, then state, then removal: a change is in the journal before it is in the store, the
//     serial of a snapshot is in the journal before the snapshot is in the store, and the journal
//     is removed only after a snapshot with all its contents was written. At any moment, the store
//     and the journal together contain everything, and the journal names the snapshot that it
//     belongs to.
//   - A new journal replaces the journal of a killed run only after the store has that run's
//     changes. The new journal also lists the steps of the killed run that never ended, until a
//     snapshot does.
//   - No intermediate snapshot is written after the final one.
//   - The serial increases with each snapshot, and a snapshot equal to the stored one is not written.
//   - If the final state can't be written to the store, it is written to a local file. If that
//     fails too and no journal contains the state, the error contains the state file.
//   - The final write and the unlocking ignore the cancellation of the caller's context.
//   - The manager never waits for the engine, and the engine waits for at most one write(2) or, in a
//     ledger, one transaction.
package statemgr
