// Package statefile reads and writes state documents in their file format.
//
// [Parse] reads versions 1 to 4. [Encode] writes version 4, byte for byte like OpenTofu: indented
// for files on disk, and on one line for other stores.
//
// Invariants: equal states are written as equal bytes. Reading and writing a snapshot loses
// nothing. Parse never panics and never reads more than [limits.State]. No other package deals with
// older format versions. An error names the position of the first problem.
package statefile
