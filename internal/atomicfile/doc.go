// Package atomicfile writes files and directories atomically: it fills them under a temporary name
// beside their final path and renames them, so that readers see either the old content or the new
// one, and a killed process leaves the old one. [Write] creates a file of the program, [Rewrite]
// replaces a file of the user, and [TempDir] creates a temporary directory.
//
// The program writes everything with it except states, which have rules of their own (package
// backend/local).
//
// Invariants: a file is overwritten in place only if its directory is not writable. Temporary names
// are hidden and share a prefix, by which [RemoveStale] finds the leftovers of killed processes
// hours later. A failed write leaves no temporary file.
package atomicfile
