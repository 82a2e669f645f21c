package engine

import (
	"cmp"
	"slices"
	"sync"

	"tofu/internal/dag"
	"tofu/internal/timings"
)

// job is a piece of work that waits for other jobs.
type job struct {
	run    func() error
	always bool          // the job runs even if a job that it waits for failed or the walk was stopped
	part   *timings.Part // may be nil

	// The fields below are guarded by the queue's lock. A job's results no longer change once a job
	// that waits for it runs.
	waits   int    // number of unfinished jobs that this one waits for
	next    []*job // the jobs that wait for this one
	last    *job   // another job that waits for this one; may be nil
	blocked bool   // a job that it waits for failed
	done    bool
	failed  bool          // run failed or was skipped
	err     error         // the error of run
	before  *timings.Part // timings of the last job that ended among those that this one waited for
}

// waitFor makes a job wait for another one. The caller holds the lock of the queue.
func (j *job) waitFor(on *job) {
	if on.done {
		j.blocked = j.blocked || on.failed
		return
	}
	on.next = append(on.next, j)
	j.waits++
}

// jobQueue runs jobs, several at a time. As in a walk, the job that became ready last runs first.
type jobQueue struct {
	w     *walk
	limit int // largest number of jobs that run at the same time

	running sync.WaitGroup // the workers

	mu      sync.Mutex // guards the fields below
	ready   []*job
	workers int             // number of workers, without those that wait in await
	busy    int             // number of these workers that run a job
	awaited map[*job][]*job // for each job, the jobs that wait for it in await
	ends    *sync.Cond      // signals that a job has ended; nil before the first await
}

// add adds jobs, and a last one that waits for all of them. connect makes the jobs wait for each
// other and for jobs that were added before.
func (q *jobQueue) add(jobs []job, last *job, connect func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	connect()
	for i := range jobs {
		jobs[i].last = last
		last.waits++
	}
	if last.waits == 0 {
		q.ready = append(q.ready, last)
	}
	for i := len(jobs) - 1; i >= 0; i-- { // workers take jobs from the end
		if jobs[i].waits == 0 {
			q.ready = append(q.ready, &jobs[i])
		}
	}
	q.start()
}

// start starts workers for the jobs that are ready. The caller holds the lock.
func (q *jobQueue) start() {
	for q.workers < q.limit && q.workers-q.busy < len(q.ready) {
		q.workers++
		q.running.Go(q.work)
	}
}

// work runs jobs until none is ready, or there are too many workers.
func (q *jobQueue) work() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ready) > 0 && q.workers <= q.limit {
		j := q.ready[len(q.ready)-1]
		q.ready = q.ready[:len(q.ready)-1]
		q.busy++
		skipped := !j.always && (j.blocked || q.w.halt.isSet())
		if !skipped {
			q.mu.Unlock()
			j.part.Begin(j.before)
			err := q.w.guard("", j.run)
			j.part.End()
			q.mu.Lock()
			j.err = err
		}
		q.busy--
		j.done, j.failed, j.run = true, skipped || j.blocked || j.err != nil, nil
		for _, next := range j.next {
			q.ended(j, next)
		}
		if j.last != nil {
			q.ended(j, j.last)
		}
		j.next = nil
		if q.ends != nil {
			q.ends.Broadcast()
		}
		q.start()
	}
	q.workers--
}

// ended tells the job next that the job j, which it waits for, has ended. The caller holds the
// lock.
func (q *jobQueue) ended(j, next *job) {
	next.blocked = next.blocked || j.failed
	next.waits--
	if next.waits == 0 {
		next.before = cmp.Or(j.part, j.before)
		q.ready = append(q.ready, next)
	}
}

// await makes a running job wait for the job on, and reports whether on succeeded. Another worker
// may run in the meantime. If on itself waits for the running job, await doesn't wait and returns
// false for waited. The visit of a node in the walk passes nil for running, because no job waits
// for it.
func (q *jobQueue) await(running, on *job) (succeeded, waited bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if running != nil && q.leads(running, on) {
		return false, false
	}
	if q.ends == nil {
		q.ends, q.awaited = sync.NewCond(&q.mu), map[*job][]*job{}
	}
	if running != nil {
		q.awaited[on] = append(q.awaited[on], running)
		q.busy--
		q.workers--
		q.start()
		defer func() {
			q.busy++
			q.workers++
		}()
	}
	for !on.done {
		q.ends.Wait()
	}
	return !on.failed, true
}

// leads reports whether the job named to waits for the job named from, directly or through other
// jobs. The caller holds the lock.
func (q *jobQueue) leads(from, to *job) bool {
	next := func(j *job) []*job {
		out := slices.Concat(j.next, q.awaited[j])
		if j.last != nil {
			out = append(out, j.last)
		}
		return out
	}
	for j := range dag.Reachable([]*job{from}, next) {
		if j == to {
			return true
		}
	}
	return false
}

// wait waits until no job runs. No jobs may be added in the meantime.
func (q *jobQueue) wait() { q.running.Wait() }
