package engine

import (
	"errors"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// TestJobs checks that jobs run after those that they wait for, unless one of these failed, at most
// as many at a time as the limit allows, and that the last one always runs.
func TestJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		q := &jobQueue{w: &walk{}, limit: limit}
		q.w.halt = func() { t.Error("a job has crashed") }
		var all []*job
		var want []bool // whether the job succeeds
		var running atomic.Int32
		for range rapid.IntRange(1, 4).Draw(t, "groups") {
			jobs, last := make([]job, rapid.IntRange(0, 6).Draw(t, "jobs")), &job{always: true}
			allGood := true
			q.add(jobs, last, func() {
				for i := range jobs {
					good := rapid.IntRange(0, 9).Draw(t, "fails") > 0
					var needs []*job
					for n := range rapid.IntRange(0, min(3, len(all))).Draw(t, "needs") {
						at := (rapid.IntRange(0, len(all)-1).Draw(t, "need") + n) % len(all)
						needs = append(needs, all[at])
						jobs[i].waitFor(all[at])
					}
					fails := !good
					jobs[i].run = func() error {
						if now := running.Add(1); int(now) > limit {
							t.Errorf("%d jobs at a time", now)
						}
						defer running.Add(-1)
						q.mu.Lock()
						defer q.mu.Unlock()
						for _, need := range needs {
							if !need.done || need.failed {
								t.Error("a job runs too early")
							}
						}
						if fails {
							return errors.New("fails")
						}
						return nil
					}
					for _, need := range needs {
						for k, other := range all {
							good = good && (other != need || want[k])
						}
					}
					allGood = allGood && good
					all, want = append(all, &jobs[i]), append(want, good)
				}
				last.run = func() error {
					for i := range jobs {
						if !jobs[i].done {
							t.Error("the last job runs too early")
						}
					}
					return nil
				}
			})
			all, want = append(all, last), append(want, allGood)
		}
		q.wait()
		for i, j := range all {
			if !j.done || j.failed == want[i] {
				t.Errorf("job %d: done %v, failed %v", i, j.done, j.failed)
			}
		}
	})
}
