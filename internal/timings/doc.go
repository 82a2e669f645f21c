// Package timings finds out where the time of a run went. It is for users who ask why something
// takes long: commands and the engine tell a [Recorder] what they do, and at the end it prints
// phases, calls to providers, waits, the slowest instances and, for each walk over a graph, the
// chain of nodes that decided how long it took.
//
// Invariants: a nil Recorder is one that nobody asked for, and costs a comparison; memory does not
// grow with the number of instances, except for one start and one end per node while a walk is
// under way.
package timings
