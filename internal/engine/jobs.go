package engine

import (
	"cmp"
	"sync"

	"tofu/internal/dag"
	"tofu/internal/timings"
)

// job is a piece of work that waits for other jobs and for nodes of the walk.
type job struct {
	run    func() error
	always bool          // the job runs even if a job that it waits for failed or the walk was stopped
	part   *timings.Part // may be nil
	queued func()        // records how long the job was ready before it began

	// The fields below are guarded by the queue's lock. A job's results are final by the time a job
	// that waits for it runs.
	waits   int    // number of unfinished jobs and nodes that this job waits for
	next    []*job // the jobs that wait for this one
	last    *job   // a further job that waits for this one, in addition to next; may be nil
	holds   []hold // nodes that wait for this job
	blocked bool   // something that it waits for failed
	done    bool
	failed  bool          // run failed or was skipped
	err     error         // the error of run
	before  *timings.Part // timings of the last job to end among those that this one waited for
}

// hold is a node of the walk that waits for a job.
type hold struct {
	node    dag.ID
	release func(ok bool)
}

// waitFor makes j wait for another job. If that job has already failed, j is blocked. The caller
// holds the lock of the queue.
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
	workers int               // number of workers, without those that wait in await
	busy    int               // number of these workers that run a job
	after   map[dag.ID][]*job // by node of the walk, the jobs that wait for it
	awaited map[*job][]waiter // for each job, the jobs and visits that wait for it in await
	ends    *sync.Cond        // signals that a job has ended; nil before the first await
}

// add adds jobs, and a last job that waits for all of them. connect is called to make the jobs wait
// for each other and for jobs that were added before.
func (q *jobQueue) add(jobs []job, last *job, connect func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	connect()
	for i := range jobs {
		jobs[i].last = last
		last.waits++
	}
	if last.waits == 0 {
		q.push(last)
	}
	for i := len(jobs) - 1; i >= 0; i-- { // workers take jobs from the end
		if jobs[i].waits == 0 {
			q.push(&jobs[i])
		}
	}
	q.start()
}

// waitForNode makes a job wait for a node of the walk. The caller holds the lock.
func (q *jobQueue) waitForNode(j *job, id dag.ID) {
	outcome, finished := q.w.walker.Watch(id, func(outcome dag.Outcome) {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.let(j, outcome == dag.Done, nil)
		q.start()
	})
	if finished {
		j.blocked = j.blocked || outcome != dag.Done
		return
	}
	j.waits++
	q.waitedFor(id, j)
}

// start starts workers for the jobs that are ready. The caller holds the lock.
func (q *jobQueue) start() {
	for q.workers < q.limit && q.workers-q.busy < len(q.ready) {
		q.workers++
		q.running.Go(q.work)
	}
}

// work runs jobs until none is ready or there are more workers than the limit.
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
			j.queued()
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
		if j.holds != nil {
			q.mu.Unlock()
			for _, h := range j.holds {
				h.release(!j.failed)
			}
			q.mu.Lock()
		}
	}
	q.workers--
}

// ended notifies another job, which waits for j, that j has ended. The caller holds the lock.
func (q *jobQueue) ended(j, next *job) { q.let(next, !j.failed, cmp.Or(j.part, j.before)) }

// let notifies a job that something it waits for has ended. The caller holds the lock.
func (q *jobQueue) let(j *job, succeeded bool, before *timings.Part) {
	j.blocked = j.blocked || !succeeded
	j.waits--
	if j.waits == 0 {
		j.before = before
		q.push(j)
	}
}

// push makes a job ready. The caller holds the lock.
func (q *jobQueue) push(j *job) {
	j.queued = q.w.calls.ready()
	q.ready = append(q.ready, j)
}

// waiter is something that can wait for a job: another job, or a node of the walk.
type waiter struct {
	job  *job   // nil for a node
	node dag.ID // the node if job is nil
}

// await waits for a job or node, which on describes, and reports whether it succeeded. by describes
// the waiter: a running job, or a node that is being visited. Another worker may run in the
// meantime. If the awaited job or node itself waits for the waiter, await returns at once, and
// waited is false.
func (q *jobQueue) await(by, on waiter) (succeeded, waited bool) {
	if by.job != nil {
		by.node = 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.leads(by, on):
		return false, false
	case on.job != nil:
		return q.awaitJob(by, on.job), true
	case by.job != nil:
		return q.awaitNode(by.job, on.node), true
	}
	q.mu.Unlock()
	defer q.mu.Lock()
	outcome, waited := q.w.walker.Await(by.node, on.node)
	return outcome == dag.Done, waited
}

// awaitJob waits for a job, and reports whether it succeeded. The caller holds the lock.
func (q *jobQueue) awaitJob(by waiter, on *job) bool {
	if q.ends == nil {
		q.ends, q.awaited = sync.NewCond(&q.mu), map[*job][]waiter{}
	}
	q.awaited[on] = append(q.awaited[on], by)
	if by.job != nil {
		defer q.replace()()
	}
	for !on.done {
		q.ends.Wait()
	}
	return !on.failed
}

// awaitNode makes a running job wait for a node, and reports whether the node succeeded. The caller
// holds the lock.
func (q *jobQueue) awaitNode(by *job, on dag.ID) bool {
	ended := make(chan dag.Outcome, 1)
	outcome, finished := q.w.walker.Watch(on, func(outcome dag.Outcome) { ended <- outcome })
	if !finished {
		q.waitedFor(on, by)
		defer q.replace()()
		q.mu.Unlock()
		outcome = <-ended
		q.mu.Lock()
	}
	return outcome == dag.Done
}

// replace lets another worker run while a running job waits. The job calls end after the wait. The
// caller holds the lock during both calls.
func (q *jobQueue) replace() (end func()) {
	q.busy--
	q.workers--
	q.start()
	return func() {
		q.busy++
		q.workers++
	}
}

// waitedFor records that a job waits for a node. The caller holds the lock.
func (q *jobQueue) waitedFor(id dag.ID, j *job) {
	if q.after == nil {
		q.after = map[dag.ID][]*job{}
	}
	q.after[id] = append(q.after[id], j)
}

// leads reports whether one waiter, to, waits for another one, from, directly or through other jobs
// and nodes. The caller holds the lock.
func (q *jobQueue) leads(from, to waiter) bool {
	next := func(x waiter) []waiter {
		var out []waiter
		if x.job == nil {
			for _, j := range q.after[x.node] {
				out = append(out, waiter{job: j})
			}
			for _, id := range q.w.walker.Dependents(x.node) {
				out = append(out, waiter{node: id})
			}
			return out
		}
		for _, j := range x.job.next {
			out = append(out, waiter{job: j})
		}
		for _, h := range x.job.holds {
			out = append(out, waiter{node: h.node})
		}
		if x.job.last != nil {
			out = append(out, waiter{job: x.job.last})
		}
		return append(out, q.awaited[x.job]...)
	}
	for x := range dag.Reachable([]waiter{from}, next) {
		if x == to {
			return true
		}
	}
	return false
}

// wait waits until no job runs. No jobs may be added in the meantime.
func (q *jobQueue) wait() { q.running.Wait() }
