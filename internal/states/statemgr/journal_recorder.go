package statemgr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// journalRecorder records an operation in a journal, and writes a snapshot to the store at
// intervals. The journal makes the state durable; the snapshots are for other readers.
type journalRecorder struct {
	to      *snapshots
	journal *journal
	first   *firstChange

	wake    chan struct{} // wakes the snapshots goroutine after a change
	stop    func()        // ends that goroutine
	stopped sync.WaitGroup

	mu    sync.Mutex // guards the following fields; never held during I/O
	over  bool       // nothing more is recorded
	state *states.State
	dirty bool                   // the state has changed since the last snapshot
	steps map[ObjectID]Operation // the steps in progress
}

// newJournalRecorder starts recording an operation that starts from a state.
func newJournalRecorder(to *snapshots, j *journal, start *states.State, first *firstChange) *journalRecorder {
	stop := make(chan struct{})
	r := &journalRecorder{to: to, journal: j, first: first, state: start.Clone(), steps: make(map[ObjectID]Operation),
		wake: make(chan struct{}, 1), stop: sync.OnceFunc(func() { close(stop) })}
	r.stopped.Go(func() { r.writeSnapshots(stop) })
	return r
}

// started implements recorder.
func (r *journalRecorder) started(op *Operation) {
	if op.reads() {
		return
	}
	r.mu.Lock()
	ended := r.over
	if !ended {
		r.steps[op.id()] = *op
	}
	r.mu.Unlock()
	if !ended {
		r.journal.append(newStartEntry(op))
		r.first.started(op)
	}
}

// ended implements recorder.
func (r *journalRecorder) ended(id ObjectID) {
	r.mu.Lock()
	_, open := r.steps[id]
	delete(r.steps, id)
	r.mu.Unlock()
	if open {
		r.journal.append(newEndEntry(id))
	}
}

// stored implements recorder.
func (r *journalRecorder) stored(o ObjectChange) {
	e, err := newStoreEntry(&o)
	if !r.record(e, err) {
		return
	}
	r.changed(func() {
		set(r.state, o.ObjectID, o.Object, o.Provider)
		if step, open := r.steps[o.ObjectID]; open && step.deletes() == (o.Object == nil) {
			delete(r.steps, o.ObjectID)
		}
	})
}

// moved implements recorder.
func (r *journalRecorder) moved(o ObjectChange, from addrs.DeposedKey) {
	e, err := newStoreEntry(&o)
	e.From = &from
	if !r.record(e, err) {
		return
	}
	r.changed(func() {
		set(r.state, o.ObjectID, o.Object, o.Provider)
		set(r.state, ObjectID{o.Addr, from}, nil, o.Provider)
	})
}

// record appends an entry to the journal before anything slower is done. err is the error of
// encoding the entry. If err is not nil, record reports it instead of appending the entry. record
// returns false if the recording has ended.
func (r *journalRecorder) record(e *entry, err error) bool {
	r.mu.Lock()
	ended := r.over
	r.mu.Unlock()
	switch {
	case ended:
		return false
	case err == nil:
		r.journal.append(e)
	default:
		r.journal.report(err)
	}
	return true
}

// changed applies a change to the state and wakes the snapshots goroutine.
func (r *journalRecorder) changed(change func()) {
	r.mu.Lock()
	change()
	r.dirty = true
	r.mu.Unlock()
	r.first.record()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// writeSnapshots writes snapshots to the store, the first one an interval after the first change.
func (r *journalRecorder) writeSnapshots(stop <-chan struct{}) {
	for {
		select {
		case <-r.wake:
		case <-stop:
			return
		}
		select {
		case <-time.After(r.to.opts.Interval):
		case <-stop:
			return
		}
		now := r.unwritten()
		if now == nil {
			continue
		}
		if err := r.writeSnapshot(now); err != nil {
			r.to.log.Warn("could not save the state during the operation; it will be saved at the end", "error", err)
		}
	}
}

// unwritten returns a copy of the state, or nil if it hasn't changed since the last call.
func (r *journalRecorder) unwritten() *states.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.dirty {
		return nil
	}
	r.dirty = false
	return r.state.Clone()
}

// writeSnapshot writes a state to the store. It returns a panic as an error, because it must not
// end the process while providers are being called.
func (r *journalRecorder) writeSnapshot(now *states.State) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			crash := tfdiags.CrashOf(problem)
			err = fmt.Errorf("internal error: %v\n%s", crash.Problem, crash.Stack)
		}
	}()
	now.Prune()
	ctx, end := r.to.withDeadline(context.Background())
	defer end()
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	r.to.mu.Lock()
	defer r.to.mu.Unlock()
	return r.to.write(ctx, now, r.to.content.doubts)
}

// stopWriting ends the writing of snapshots and waits for the one that is being written. The caller
// must not hold the lock of the destination.
func (r *journalRecorder) stopWriting() {
	r.stop()
	r.stopped.Wait()
}

// end ends the recording and returns the steps that have not ended.
func (r *journalRecorder) end() []Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	return slices.Collect(maps.Values(r.steps))
}

// report records that an entry could not be encoded.
func (j *journal) report(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = errors.Join(j.err, err)
	j.reportFailure(err)
}

// complete reports whether the journal has entries and all of them are on disk.
func (j *journal) complete() bool {
	err := j.f.Sync()
	j.mu.Lock()
	defer j.mu.Unlock()
	return err == nil && j.err == nil && j.entries > 0
}
