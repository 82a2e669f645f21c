package engine

import "sync"

// job is a piece of work that waits for other jobs.
type job struct {
	run    func() error
	always bool // runs even if a job that it waits for failed, or the walk has been stopped

	// The fields below are guarded by the lock of the queue. The results of a job don't change
	// while jobs run that wait for it.
	waits   int    // for how many jobs
	next    []*job // wait for this one
	last    *job   // waits for this one; may be nil
	blocked bool   // a job that it waits for failed
	done    bool
	failed  bool  // the work failed or was not done
	err     error // of the work
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

// jobQueue runs jobs, several at a time. The one that became ready last runs first, as in a walk.
type jobQueue struct {
	w     *walk
	limit int // of running jobs

	running sync.WaitGroup // the workers

	mu      sync.Mutex // guards the fields below
	ready   []*job
	workers int
	busy    int // workers that run a job
}

// add adds jobs, and a last one that waits for all of them. Connect makes them wait for each other
// and for jobs that were added before.
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
	for i := len(jobs) - 1; i >= 0; i-- { // they are taken from the end
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

// work runs jobs until none is ready.
func (q *jobQueue) work() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ready) > 0 {
		j := q.ready[len(q.ready)-1]
		q.ready = q.ready[:len(q.ready)-1]
		q.busy++
		skipped := !j.always && (j.blocked || q.w.halted())
		if !skipped {
			q.mu.Unlock()
			err := q.w.guard("", j.run)
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
		q.start()
	}
	q.workers--
}

// ended notes that a job has ended which another one waits for.
func (q *jobQueue) ended(j, next *job) {
	next.blocked = next.blocked || j.failed
	next.waits--
	if next.waits == 0 {
		q.ready = append(q.ready, next)
	}
}

// wait waits until no job runs. Nothing may add jobs meanwhile.
func (q *jobQueue) wait() { q.running.Wait() }
