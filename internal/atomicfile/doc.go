// Package atomicfile writes files and directories atomically: it fills them under a temporary name
// beside their final path and then renames them. Readers see either the old or the new content. If
// the process is killed, the old content stays. [Write] creates one of the program's own files,
// [Rewrite] replaces one of the user's files, and [TempDir] creates a temporary directory.
//
// The program writes all files with this package except states, for which package backend/local has
// other rules.
//
// Invariants: a regular file is overwritten in place only if it can't be replaced, because its
// directory is not writable or the file is a mount point. Temporary names are hidden and share a
// prefix, by which [RemoveStale] finds the leftovers of killed processes hours later. A failed
// write leaves no temporary file.
package atomicfile
