// Package statefile reads and writes state documents in their file format.
//
// It is for whoever holds a snapshot's bytes: the state manager, the state commands, and readers of other configurations'
// states. [Parse] accepts versions 1 to 4; [Encode] writes version 4, byte for byte as OpenTofu lays it out: indented for files
// on disk, on one line for everything else.
//
// Invariants: equal states give equal bytes; a snapshot that is read and written unchanged loses nothing; no input makes Parse
// panic or read more than [MaxSize]; only this package knows older versions; an error names the place and the first problem.
package statefile
