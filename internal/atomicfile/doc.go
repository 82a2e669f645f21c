// Package atomicfile writes files and folders atomically: it fills them under a temporary name
// beside their final path and renames them, so that readers see either the old content or the new
// one, and a killed process leaves the old one.
//
// The program writes everything with it except states, which have rules of their own (package
// backend/local).
//
// Invariants: a file is overwritten in place only if its folder is not writable. Temporary names are
// hidden and share one prefix, by which [RemoveStale] finds the leftovers of killed processes hours
// later. A write that fails leaves no temporary file.
package atomicfile
