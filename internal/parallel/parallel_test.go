package parallel_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tofu/internal/parallel"
	"tofu/internal/tfdiags"
)

func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 3, 1000} {
		seen := make([]atomic.Int32, n)
		var running, most atomic.Int32
		parallel.Each(n, 4, func(i int) {
			now := running.Add(1)
			for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
			}
			seen[i].Add(1)
			running.Add(-1)
		})
		for i := range seen {
			if got := seen[i].Load(); got != 1 {
				t.Errorf("n = %d: do(%d) was called %d times", n, i, got)
			}
		}
		if most.Load() > 4 {
			t.Errorf("n = %d: %d calls at a time", n, most.Load())
		}
	}
}

// TestEachIsConcurrent checks that all calls run concurrently if there are enough workers. If they
// don't, the test hangs.
func TestEachIsConcurrent(t *testing.T) {
	var all sync.WaitGroup
	all.Add(5)
	parallel.Each(5, 8, func(int) {
		all.Done()
		all.Wait()
	})
}

// TestPanic checks that a panic in nested calls reaches the caller with its stack, and that no call
// begins after it.
func TestPanic(t *testing.T) {
	calls := 0
	defer func() {
		crash, ok := recover().(tfdiags.Crash)
		if !ok || crash.Problem != "on purpose" || !strings.Contains(string(crash.Stack), "fail") {
			t.Errorf("recovered %v", crash)
		}
		if calls != 11 {
			t.Errorf("%d calls, want 11", calls)
		}
	}()
	parallel.Each(1000, 1, func(i int) {
		calls++
		if i == 10 {
			parallel.Each(2, 2, func(int) { fail() })
		}
	})
}

func fail() { panic("on purpose") }
