// Package parallel runs the iterations of a loop concurrently, and reports results in order. The
// iterations must be independent of each other. For work with dependencies, use package dag.
//
// Invariants: when Each returns, no call is still running. A panic in a call reaches the caller of
// Each, as in a plain loop, together with the stack on which it occurred.
package parallel

import (
	"sync"
	"sync/atomic"

	"tofu/internal/tfdiags"
)

// Each calls the function do with each number from 0 to n-1 and returns when all calls have
// returned. The calls run in several goroutines, whose maximum number is workers. After a panic,
// Each begins no further calls.
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
