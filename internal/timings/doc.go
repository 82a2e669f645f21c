// Package timings records how long the parts of a run take, for users who want to know why a
// command is slow. Commands and the engine report to a [Recorder], which prints phases, provider
// calls, waits, the slowest instances and, for each walk over a graph, the chain of nodes that
// determined its duration.
//
// Invariants: a nil Recorder does nothing and costs one comparison; memory use does not grow with
// the number of instances, except for a start and an end per node during a walk.
package timings
