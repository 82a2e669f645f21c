// Package local keeps state snapshots in files: terraform.tfstate for the default workspace, a folder each for the others.
//
// A snapshot is written to a temporary file beside the old one, synced and renamed into its place, so that a full disk, a crash
// or a kill leaves the old one whole. The first write of a run keeps what it replaces as the backup.
//
// Two locks are held. One is on a file of its own (.NAME.lock), which is never renamed, so it stands for the workspace whatever
// happens to the snapshot. The other is on the snapshot itself, where OpenTofu looks for it: each new snapshot is locked before it
// is renamed into place. On Linux they are open-file-description locks, so that closing some other descriptor of the same file
// doesn't drop them; elsewhere they are what the system offers. The file .NAME.lock.info tells others who holds the lock; it is
// information only, and one that a killed process left behind blocks nothing.
//
// Invariants: no file is ever truncated in place, except where its folder can't be written (see atomicfile.Overwrite); no empty state
// file is created; a backup is never written from nothing; files are the user's: owner, mode and symbolic links stay.
package local
