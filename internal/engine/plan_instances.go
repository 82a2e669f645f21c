package engine

import (
	"context"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// Planning by instance
//
// Most resources are planned as a whole: all instances at once, after everything that they refer
// to. If a block refers to single instances of its own or another resource, each of its instances
// is planned by a job. The job waits for the jobs of the instances that it reads. The keys in these
// references are evaluated when the instances of the block are determined. If a key isn't known
// then, the instance waits for the whole resource.
//
// The resource's own node is visited after its last job; nodes that read the whole resource depend
// on it. The last job sets the values of the resource and reports all errors. Errors of a resource
// are reported before errors of its readers.

// inOrder reports whether the instances of the resource are planned by jobs, in the order of
// references.
func (v resourceVisit) inOrder() bool { return v.r.Inputs != v.r.Node || v.r.OwnInstances() != nil }

// findAwaited finds the instances of other resources that each instance waits for. It leaves out
// resources that an instance waits for as a whole.
func (v resourceVisit) findAwaited(ctx context.Context, in *moduleInstance, x *expansion) {
	if len(v.r.Awaited) == 0 {
		return
	}
	c := v.eval().newContext(ctx, in, repetition{})
	c.before = v.r
	for i := range x.keys {
		c.rep = x.repetition(i)
		for _, read := range v.r.Awaited {
			x.reads[i] = c.addAwaited(x.reads[i], read)
		}
	}
}

// addAwaited adds the instances that references select to a list. If a key is not known, or if
// there is no instance with that key, it adds none. The instance must then wait for the whole
// resource.
func (c *evalContext) addAwaited(list []plans.InstanceRead, read graph.IndexedRead) []plans.InstanceRead {
	first := len(list)
	of, x := read.Of, c.in.resources[read.Of.Slot]
	var found keySet
	for _, ref := range read.Refs {
		if c.unused(ref) {
			continue
		}
		key, err := c.keyOf(ref, of.Exprs.Repetition)
		if err != nil {
			return list[:first]
		}
		if _, exists := x.has(key); !exists {
			return list[:first]
		}
		if found.add(key) {
			list = append(list, plans.InstanceRead{Resource: of.Addr.Resource, Key: key})
		}
	}
	if len(list) == first {
		list = append(list, plans.InstanceRead{Resource: of.Addr.Resource, Key: addrs.NoKey})
	}
	return list
}

// awaitedWhole returns the resources that an instance waits for as a whole. In reads, single
// instances are in the order of Awaited, after those of the resource itself.
func (v resourceVisit) awaitedWhole(reads instanceReads) []*graph.Resource {
	_, reads = reads.cut(v.r.Addr.Resource)
	var out []*graph.Resource
	for _, read := range v.r.Awaited {
		var single instanceReads
		single, reads = reads.cut(read.Of.Addr.Resource)
		if single == nil {
			out = append(out, read.Of)
		}
	}
	return out
}

// deferredByRead returns why an instance is deferred because of something that it reads, or nil if
// it isn't.
func (v resourceVisit) deferredByRead(in *moduleInstance, x *expansion, i int) *deferredNode {
	if x.deferred == nil {
		return nil
	}
	for _, read := range x.reads[i] {
		of := in.resources[v.r.Module.Resources[read.Resource].Slot]
		if at, exists := of.has(read.Key); exists && of.deferred[at] != nil {
			return of.deferred[at]
		}
	}
	for _, of := range v.awaitedWhole(x.reads[i]) {
		if d := v.w.result(of).deferredBy; d != nil {
			return d
		}
	}
	return nil
}

// start begins to plan the objects of a resource in the order of their references. After the last
// object, it calls end with all errors.
func (p *resourcePlan) start(end func(error)) {
	w, r := p.w, p.r
	jobs := make([]job, len(p.run))
	for i := range p.run {
		jobs[i].run = func() error { return p.runOne(i, &jobs[i]) }
	}
	last := &job{always: true}
	last.run = func() error {
		var errs tfdiags.Diagnostics
		for i := range jobs {
			errs = errs.AppendError(jobs[i].err)
		}
		end(errs.Err())
		return nil
	}
	if v := p.resourceVisit; v.part == nil {
		w.result(r).last = last
	}
	w.jobs.add(jobs, last, func() {
		rest := jobs
		for _, in := range p.planned {
			if x := in.resources[r.Slot]; x != nil {
				x.jobs, rest = rest[:len(x.keys)], rest[len(x.keys):]
				w.eval.unfinished.start(r.Addr.Resource.InInstance(in.addr), x.jobs, last)
				p.connect(in, x)
				p.time(in, x)
			}
		}
		for _, read := range r.Awaited { // so that errors are reported in order
			last.waitFor(w.result(read.Of).last)
		}
	})
}

// time records how long it takes to plan each instance in one module instance.
func (p *resourcePlan) time(in *moduleInstance, x *expansion) {
	if p.w.times == nil {
		return
	}
	for i, key := range x.keys {
		x.jobs[i].part = p.w.times.Part(p.r.Node.ID, p.r.Inputs.ID, func() string {
			return p.r.Addr.Resource.InInstance(in.addr).Instance(key).String()
		})
	}
}

// connect makes the job of each instance in one module instance wait for the jobs of the instances
// and resources that it reads.
func (p *resourcePlan) connect(in *moduleInstance, x *expansion) {
	for i := range x.jobs {
		for _, read := range x.reads[i] {
			of := in.resources[p.r.Module.Resources[read.Resource].Slot]
			if at, exists := of.has(read.Key); exists {
				x.jobs[i].waitFor(&of.jobs[at])
			}
		}
		for _, of := range p.awaitedWhole(x.reads[i]) {
			x.jobs[i].waitFor(p.w.result(of).last)
		}
	}
}

// startPlan begins to plan the instances of a resource. Not everything that the resource reads has
// been planned by then.
func (v resourceVisit) startPlan(ctx context.Context) error {
	w, r, res := v.w, v.r, v.w.result(v.r)
	p, deferred, err := v.begin(ctx)
	switch {
	case deferred != nil:
		// A later visit defers the changes, once the values that the block reads are complete.
		res.deferredBy = deferred
		w.deferrals.set(r.Inputs, deferred.behind(r.Addr.String()))
		return nil
	case p == nil:
		return err
	}
	incomplete := len(p.errs) > 0
	w.times.Begin(r.Node.ID)
	release := w.walker.Hold(r.Node.ID)
	p.start(func(err error) {
		defer release()
		err = p.end(err)
		w.out.report(err)
		res.failed = err != nil || res.last.blocked
		res.deferredBy = w.deferrals.at(r.Node)
	})
	if incomplete {
		return errReported // so that no reader of single instances starts
	}
	return nil
}

// planned finishes the planning of a resource after its jobs have ended.
func (v resourceVisit) planned(ctx context.Context) error {
	switch res := v.w.result(v.r); {
	case res.last == nil && res.deferredBy != nil:
		return v.deferAll(ctx, res.deferredBy)
	case res.failed:
		return errReported
	}
	return nil
}
