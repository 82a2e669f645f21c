// Package timings records how long the parts of a run take, for users who want to know why a
// command is slow. Commands and the engine report to a [Recorder], which prints phases, provider
// calls, waits and the slowest instances. For each walk over a graph, it also prints the chain of
// nodes that determined the duration of the walk.
//
//	recorder := timings.New()
//	end := recorder.Phase("configuration")
//	config, err := load()
//	end()
//	recorder.Report(os.Stderr)
//
// Invariants: a nil Recorder does nothing and costs one comparison. Memory use does not grow with
// the number of instances, except for a start and an end per node during a walk.
package timings
