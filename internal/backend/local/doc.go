// Package local keeps state snapshots in files. The default workspace's file is terraform.tfstate.
// Each other workspace has a directory.
//
// A snapshot is written to a temporary file in the same directory, synced and renamed, so that the
// old one survives a full disk, a crash or a kill. The first write of a run keeps the previous
// snapshot as backup.
//
// There are two locks. One is on a separate file (.NAME.lock), which is never renamed, so it locks
// the workspace even while the snapshot is replaced. The other is on the snapshot itself, where
// OpenTofu looks for it: each new snapshot is locked before it is renamed. On Linux, both are open
// file description locks, so that closing another descriptor of the same file doesn't release them;
// on other systems, they are the usual file locks. The file .NAME.lock.info describes the holder of
// the lock; it is informational, and a stale one doesn't block anything.
//
// Invariants: no file is truncated in place, except where it can't be replaced by renaming (see
// atomicfile.Overwrite); no empty state file is created; if there was no state, no backup is
// written; owner, mode and symbolic links of files are preserved.
package local
