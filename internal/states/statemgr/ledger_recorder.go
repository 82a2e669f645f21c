package statemgr

import (
	"context"
	"slices"
	"sync"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
)

const (
	// recordTimeout limits the recording of one step in a ledger, including repetitions.
	recordTimeout = 2 * time.Minute
	// lateTimeout replaces recordTimeout after a record has failed. Save writes the changes that
	// were not recorded.
	lateTimeout = 5 * time.Second
)

// ledgerRecorder records an operation in the ledger that keeps the state. Steps that are recorded
// at the same time share a transaction.
type ledgerRecorder struct {
	to       *parts
	run      LedgerRun
	revision uint64 // revision of the state that the plan has read
	first    *firstChange

	mu    sync.Mutex                // guards the following fields; locked after the mutex of to, if both are needed
	base  *states.State             // the state that the ledger has, without the changes of other runs
	steps map[ObjectID]recordedStep // the steps in progress
	// provided has the objects that providers have changed, but whose changes could not be
	// recorded.
	provided map[ObjectID]bool
	failed   bool
	sent     map[addrs.ProviderInstance]bool // the configurations of providers that this run has written

	starts  queue[*Operation]
	results queue[*Change]
}

// recordedStep is a step in progress.
type recordedStep struct {
	Operation
	recorded bool // the ledger has the step; steps that only read are not recorded
}

// open returns the recorded steps that have not ended.
func (r *ledgerRecorder) open() []Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Operation
	for _, step := range r.steps {
		if step.recorded {
			out = append(out, step.Operation)
		}
	}
	return out
}

// context returns the context for writing a record. Canceling the operation does not cancel it.
func (r *ledgerRecorder) context() (context.Context, context.CancelFunc) {
	timeout := recordTimeout
	r.mu.Lock()
	if r.failed {
		timeout = lateTimeout
	}
	r.mu.Unlock()
	ctx, end := r.to.withDeadline(context.Background())
	ctx, cancel := context.WithTimeout(ctx, timeout)
	return ctx, func() { cancel(); end() }
}

// fail reports that steps can no longer be recorded. Save writes the changes that were not
// recorded.
func (r *ledgerRecorder) fail(err error) {
	r.mu.Lock()
	first := !r.failed
	r.failed = true
	r.mu.Unlock()
	if !first {
		return
	}
	r.to.log.Warn("could not record a step of the operation; no more steps will start", "error", err)
	if r.to.opts.Fail != nil {
		r.to.opts.Fail(err)
	}
}

// recorded returns the state that the ledger has, without the changes of other runs.
func (r *ledgerRecorder) recorded() *states.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.base
}

// ofProviders sets ByProvider of the objects in a change that are in r.provided.
func (r *ledgerRecorder) ofProviders(change *Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range change.Objects {
		o := &change.Objects[i]
		o.ByProvider = o.ByProvider || r.provided[o.ObjectID]
	}
}

// started implements recorder.
func (r *ledgerRecorder) started(op *Operation) {
	r.mu.Lock()
	r.steps[op.id()] = recordedStep{*op, !op.reads()}
	r.mu.Unlock()
	if op.reads() {
		return
	}
	start := func(take func() []*Operation) error {
		ctx, cancel := r.context()
		defer cancel()
		return r.run.Start(ctx, take)
	}
	if err := r.starts.add(op, start); err != nil {
		r.fail(err)
	}
	r.first.started(op)
}

// stored implements recorder.
func (r *ledgerRecorder) stored(o ObjectChange) { r.store(o) }

// moved implements recorder.
func (r *ledgerRecorder) moved(o ObjectChange, from addrs.DeposedKey) {
	origin := ObjectID{o.Addr, from}
	o.From = &origin
	r.store(o, ObjectChange{ObjectID: origin})
}

// store records objects of one instance in one transaction. The transaction also records the end of
// the step that stored the first of them.
func (r *ledgerRecorder) store(objects ...ObjectChange) {
	change := &Change{}
	r.mu.Lock()
	for _, o := range objects {
		old := find(r.base, o.ObjectID)
		if old != nil && o.From == nil {
			o.From = &ObjectID{o.Addr, o.Deposed}
		}
		if !statefile.SameObject(old, o.Object) || old != nil && o.Object != nil &&
			providerOf(r.base, o.Addr) != o.Provider {
			change.Objects = append(change.Objects, o)
		}
	}
	first := &objects[0]
	if step, open := r.steps[first.ObjectID]; open && first.From == nil && step.deletes() == (first.Object == nil) {
		delete(r.steps, first.ObjectID)
		if step.recorded {
			change.Ended = []ObjectID{first.ObjectID}
		}
		for i := range change.Objects {
			o := &change.Objects[i]
			o.ByProvider = o.ObjectID == first.ObjectID
		}
	}
	r.mu.Unlock()
	if len(change.Objects) == 0 && len(change.Ended) == 0 {
		return
	}
	err := r.write(change)
	r.mu.Lock()
	for _, o := range change.Objects {
		if err == nil {
			set(r.base, o.ObjectID, o.Object, o.Provider)
			delete(r.provided, o.ObjectID)
		} else if o.ByProvider {
			r.provided[o.ObjectID] = true
		}
	}
	r.mu.Unlock()
	if err != nil {
		return
	}
	r.first.record()
}

// ended implements recorder.
func (r *ledgerRecorder) ended(id ObjectID) {
	r.mu.Lock()
	step := r.steps[id]
	delete(r.steps, id)
	r.mu.Unlock()
	// An earlier creation whose address has changed has its record in this run.
	if step.recorded && !(r.to.doubts.open(id) && r.to.doubts.hasMoved(id)) {
		_ = r.write(&Change{Ended: []ObjectID{id}})
	}
}

// unsentProviders returns the configurations of the providers of objects that this run has not written yet.
// Another run may have removed those whose last object this run has removed, so they are written again.
func (r *ledgerRecorder) unsentProviders(objects []ObjectChange) []ProviderChange {
	r.to.mu.Lock()
	defer r.to.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(objects, func(o ObjectChange) bool { return o.Object == nil }) {
		clear(r.sent)
	}
	return slices.DeleteFunc(neededProviders(r.to.kept, r.base, objects),
		func(c ProviderChange) bool { return r.sent[c.Provider] })
}

// sentProviders notes which configurations of providers this run has written.
func (r *ledgerRecorder) sentProviders(changes []ProviderChange) {
	r.to.mu.Lock()
	defer r.to.mu.Unlock()
	r.to.keep(changes)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range changes {
		r.sent[c.Provider] = true
	}
}

// write writes the result of a step. Results of other steps that arrive in the meantime share its
// transaction. write returns when the result is stored. It reports an error to the operation.
func (r *ledgerRecorder) write(change *Change) error {
	err := r.results.add(change, func(take func() []*Change) error {
		ctx, cancel := r.context()
		defer cancel()
		var all *Change
		_, _, err := r.run.Write(ctx, func() *Change {
			all = &Change{Base: r.revision, Lineage: r.to.newLineage()}
			for _, c := range take() {
				all.Objects, all.Ended = append(all.Objects, c.Objects...), append(all.Ended, c.Ended...)
			}
			all.Providers = r.unsentProviders(all.Objects)
			return all
		})
		if err == nil {
			r.sentProviders(all.Providers)
		}
		return err
	})
	if err != nil {
		r.fail(err)
	}
	return err
}
