package engine

import (
	"errors"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"tofu/internal/dag"
)

// TestJobs checks that a job runs after the jobs that it waits for, but not if one of them failed.
// It also checks that no more jobs run at a time than the limit allows, and that the last job
// always runs.
func TestJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		q := &jobQueue{w: &walk{calls: newCalls(1, nil, nil)}, limit: limit}
		q.w.halt.cancel = func() { t.Error("a job has crashed") }
		var all []*job
		var want []bool // whether each job succeeds
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

// TestJobsAwait checks that a running job that waits for another job continues when that job is
// done. Jobs must never wait for each other in a cycle.
func TestJobsAwait(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := &jobQueue{w: &walk{calls: newCalls(1, nil, nil)}, limit: rapid.IntRange(1, 4).Draw(t, "limit")}
		q.w.halt.cancel = func() { t.Error("a job has crashed") }
		n := rapid.IntRange(1, 12).Draw(t, "jobs")
		fails := rapid.SliceOfN(rapid.IntRange(0, 9), n, n).Draw(t, "fails")
		awaits := rapid.SliceOfN(rapid.IntRange(-n, n-1), n, n).Draw(t, "awaits")
		jobs, last := make([]job, n), &job{always: true, run: func() error { return nil }}
		order := &dag.Graph{} // guarded by q.mu
		for range n {
			order.Add()
		}
		for i := range jobs {
			jobs[i].run = func() error {
				if on := awaits[i]; on >= 0 {
					q.mu.Lock()
					order.Connect(dag.ID(i), dag.ID(on))
					q.mu.Unlock()
					succeeded, waited := q.await(waiter{job: &jobs[i]}, waiter{job: &jobs[on]})
					q.mu.Lock()
					defer q.mu.Unlock()
					switch {
					case waited && (!jobs[on].done || succeeded == jobs[on].failed):
						t.Errorf("job %d went on too early after %d", i, on)
					case !waited && order.Acyclic():
						t.Errorf("job %d didn't wait for %d", i, on)
					}
					if !waited {
						order.Remove(dag.ID(i), func(to dag.ID) bool { return to == dag.ID(on) })
					}
				}
				if fails[i] == 0 {
					return errors.New("fails")
				}
				return nil
			}
		}
		q.add(jobs, last, func() {
			for i := range n - 1 {
				if rapid.Bool().Draw(t, "waits") {
					order.Connect(dag.ID(i+1), dag.ID(i))
					jobs[i+1].waitFor(&jobs[i])
				}
			}
		})
		q.wait()
		if !last.done || !order.Acyclic() {
			t.Errorf("done %v, acyclic %v", last.done, order.Acyclic())
		}
	})
}
