// Package parallel runs the turns of a loop at the same time.
//
// It is for loops whose turns don't depend on each other; where some do, they are a graph, which package dag walks.
//
// Invariants: nothing still runs when Each has returned; a panic reaches the caller of Each, as it would from a plain loop, with the
// stack that it happened on.
package parallel

import (
	"sync"
	"sync/atomic"

	"tofu/internal/tfdiags"
)

// Each calls do for 0 to n-1, at most workers at a time, and returns when all calls have. After a panic no further call begins.
func Each(n, workers int, do func(i int)) {
	var next atomic.Int64
	var crash atomic.Pointer[tfdiags.Crash]
	work := func() {
		defer func() {
			if problem := recover(); problem != nil {
				found := tfdiags.CrashOf(problem)
				crash.CompareAndSwap(nil, &found)
			}
		}()
		for crash.Load() == nil {
			i := int(next.Add(1) - 1)
			if i >= n {
				return
			}
			do(i)
		}
	}
	var wait sync.WaitGroup
	for range min(n, workers) {
		wait.Go(work)
	}
	wait.Wait()
	if first := crash.Load(); first != nil {
		panic(*first)
	}
}
