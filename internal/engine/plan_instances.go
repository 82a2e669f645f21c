package engine

import (
	"context"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// Planning by instance
//
// Most resources are planned as a whole: all instances at once, after everything that they refer
// to. If a block refers to single instances of its own or another resource, a vertex for each of its
// instances is added to the walk. It waits for the vertices of the instances that it reads. The keys
// in these references are evaluated when the instances of the block are determined. If a key isn't
// known then, the instance waits for the whole resource. In the same way, an instance that reads
// outputs of single module instances waits for what these read, and what stands for an instance in the
// graph waits for its vertex (graph.Graph.Instances).
//
// One more vertex comes after all instances. It sets the values of the resource and reports all
// errors, so these come before errors of its readers. The resource's own node comes next; nodes that
// read the whole resource depend on it.

// inOrder reports whether the instances of the resource are planned in the order of references.
func (v resourceVisit) inOrder() bool { return v.r.Inputs != v.r.Node || v.r.OwnInstances() != nil }

// findReads finds what each instance waits for: instances of other resources, and nodes of the outputs of
// single module instances. It leaves out resources that an instance waits for as a whole.
func (v resourceVisit) findReads(ctx context.Context, in *moduleInstance, x *expansion) {
	c := v.eval().newContext(ctx, in, repetition{})
	c.before = v.r
	for read := range v.r.Singly() {
		if read.Call != nil && x.outputs == nil {
			x.outputs = make([][]*reads.Node, len(x.keys))
		}
		for i := range x.keys {
			c.rep = x.repetition(i)
			keys, known := c.selectedKeys(read)
			switch {
			case read.Call != nil:
				x.outputs[i] = c.addOutputs(x.outputs[i], read, keys, known)
			case known:
				x.reads[i] = addReads(x.reads[i], read, keys)
			}
		}
	}
}

// selectedKeys returns the keys of the instances that a block reads. It returns false if the reader must
// wait for the whole object: if a key is not known, if no instance has that key, or if all of many
// instances of a resource are selected.
func (c *evalContext) selectedKeys(read reads.KeyedRead) (keys []addrs.InstanceKey, known bool) {
	of := read.Keys()
	x := c.e.declared(c.in, of)
	var found keySet
	for _, ref := range read.Refs {
		selected, err := c.keys().keysOf(ref, of)
		if err != nil || x == nil {
			return nil, false
		}
		for _, key := range selected {
			_, exists := x.find(key)
			switch {
			case !exists && ref.How == lang.ByLookup: // lookup then returns its default
			case !exists:
				return nil, false
			case found.add(key):
				keys = append(keys, key)
			}
		}
	}
	return keys, read.Call != nil || !selectsAll(len(keys), x)
}

// addReads adds the instances of a resource with the given keys to a list, or an entry without a key if
// there are none.
func addReads(list []plans.InstanceRead, read reads.KeyedRead, keys []addrs.InstanceKey) []plans.InstanceRead {
	if len(keys) == 0 {
		keys = []addrs.InstanceKey{addrs.NoKey}
	}
	for _, key := range keys {
		list = append(list, plans.InstanceRead{Resource: read.Name(), Key: key})
	}
	return list
}

// readWhole returns what the block reads singly, but an instance waits for as a whole, because list
// has no entries for it. list begins with the instances of the resource itself, followed by others in
// the order of Singly.
func (v resourceVisit) readWhole(list instanceReads) []reads.KeyedRead {
	_, list = list.cut(v.r.Addr.Resource)
	var out []reads.KeyedRead
	for read := range v.r.Singly() {
		if read.Call != nil {
			break // calls come last
		}
		var single instanceReads
		single, list = list.cut(read.Name())
		if single == nil {
			out = append(out, read)
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
		of := v.w.eval.expansionRead(in, read.Resource)
		if at, exists := of.has(read.Key); exists && of.deferred[at] != nil {
			return of.deferred[at]
		}
	}
	for _, read := range v.readWhole(x.reads[i]) {
		if d := v.started(read.Of).deferredBy; d != nil {
			return d
		}
	}
	if x.outputs != nil {
		for _, n := range x.outputs[i] {
			if d := v.w.deferrals.at(n); d != nil {
				return d
			}
		}
	}
	return nil
}

// deferredInstance returns, for a node that stands for an instance of a resource, why the instance is
// deferred. It returns nil if it isn't, and for all other nodes.
func (w *walk) deferredInstance(n *reads.Node) *deferredNode {
	addr, ok := n.Object.(reads.InstanceObject)
	if !ok {
		return nil
	}
	r := w.graph.Resource(addr.Config())
	x := w.eval.expansionOf(r, w.modules.at(r.Module, addr.Module))
	if i, exists := x.has(addr.Key); exists && x.deferred != nil {
		return x.deferred[i]
	}
	return nil
}

// startedPlan is a resource, or a resource in one instance of a module call, whose instances are
// planned by vertices of their own.
type startedPlan struct {
	vertex     dag.ID        // the vertex that ends the planning; 0 if it is deferred
	report     func()        // reports the errors of the plans, when all of them have ended; nil afterwards
	failed     bool          // not everything could be planned; set when the planning has ended
	deferredBy *deferredNode // why the resource, or an instance of it, is deferred
}

// start begins to plan the objects of a resource in the order of their references.
func (p *resourcePlan) start(s *startedPlan) {
	w, r := p.w, p.r
	errs := make([]error, len(p.run))
	visits := make([]func() bool, len(p.run))
	var first dag.ID
	for i := range p.run {
		visits[i] = func() bool {
			id := first + dag.ID(i)
			defer w.times.Visit(id)()
			errs[i] = w.guard("", func() error { return p.runOne(i, id) })
			return errs[i] == nil
		}
	}
	s.report = func() {
		s.report = nil
		err := w.guard("", func() error { return p.end(tfdiags.Join(errs...)) })
		w.out.report(err)
		s.failed = s.failed || err != nil
		s.deferredBy = w.deferrals.at(p.node())
	}
	end := func(ok bool) bool {
		defer w.times.Visit(s.vertex)()
		s.failed = !ok
		s.report()
		return true
	}
	w.walker.Extend(visits, end, func(id dag.ID, wait func(id, on dag.ID)) {
		first, s.vertex = id, id+dag.ID(len(p.run))
		wait(p.node().ID, s.vertex)
		for i := range p.run {
			wait(first+dag.ID(i), p.inputs().ID)
		}
		for _, in := range p.planned {
			x := in.resources[r.Slot]
			if x == nil {
				continue
			}
			x.vertex = id
			w.eval.unfinished.start(r.Addr.Resource.InInstance(in.addr), id, s.vertex)
			p.connect(in, x, wait)
			for key, n := range w.graph.Instances(r, in.addr) {
				if at, exists := x.has(key); exists {
					wait(n.ID, id+dag.ID(at))
				}
			}
			p.time(in, x)
			id += dag.ID(len(x.keys))
		}
		for ; id <= s.vertex; id++ { // objects that are no longer declared, and the end
			w.times.Add(nil)
		}
		// These waits put the errors of a resource before the errors of its readers.
		for read := range r.Singly() {
			if read.Of != nil && p.started(read.Of).vertex > 0 {
				wait(s.vertex, p.started(read.Of).vertex)
			}
			for _, output := range read.Outputs() {
				for _, in := range p.planned {
					if n := w.graph.Final(output, in.addr); n != nil {
						wait(s.vertex, n.ID)
					}
				}
			}
		}
		if !p.inOne() {
			for _, n := range w.graph.Apart(r.Node) {
				wait(s.vertex, n.ID)
			}
		}
	})
}

// started returns the plan of another resource that has been started before the visit.
func (v resourceVisit) started(of *reads.Resource) *startedPlan {
	return v.w.started[v.w.graph.NodeIn(of.Node, v.n.In).ID]
}

// time records how long it takes to plan each instance in one module instance.
func (p *resourcePlan) time(in *moduleInstance, x *expansion) {
	for _, key := range x.keys {
		p.w.times.Add(func() string { return p.r.Addr.Resource.InInstance(in.addr).Instance(key).String() })
	}
}

// connect makes the vertex of each instance in one module instance wait for the objects that the
// instance reads.
func (p *resourcePlan) connect(in *moduleInstance, x *expansion, wait func(id, on dag.ID)) {
	for i := range x.keys {
		id := x.vertex + dag.ID(i)
		for _, read := range x.reads[i] {
			of := p.w.eval.expansionRead(in, read.Resource)
			if at, exists := of.has(read.Key); exists && of.vertex > 0 {
				wait(id, of.vertex+dag.ID(at))
			}
		}
		for _, read := range p.readWhole(x.reads[i]) {
			if of := p.started(read.Of).vertex; of > 0 {
				wait(id, of)
			}
			if read.Via != nil {
				if n := p.w.graph.Final(read.Via, in.addr); n != nil {
					wait(id, n.ID)
				}
			}
		}
		if x.outputs != nil {
			for _, n := range x.outputs[i] {
				wait(id, n.ID)
			}
		}
	}
}

// addOutputs adds the nodes of the outputs that an instance reads from a module call to a list: of the
// module instances with the given keys or, if these are not known, of the whole call.
func (c *evalContext) addOutputs(
	list []*reads.Node, read reads.KeyedRead, keys []addrs.InstanceKey, known bool,
) []*reads.Node {
	from := []addrs.ModuleInstance{c.in.addr}
	if known {
		from = from[:0]
		for _, key := range keys {
			from = append(from, c.in.addr.Child(read.Call.Call.Name, key))
		}
	}
	for _, in := range from {
		for _, output := range read.Outputs() {
			if n := c.e.graph.Final(output, in); n != nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// startPlan begins to plan the instances of a resource. Not everything that the resource reads has
// been planned by then.
func (v resourceVisit) startPlan(ctx context.Context) error {
	w, r, node, s := v.w, v.r, v.node(), &startedPlan{}
	w.started[node.ID] = s
	p, deferred, err := v.begin(ctx)
	switch {
	case deferred != nil:
		// A later visit defers the changes, once the values that the block reads are complete.
		s.deferredBy = deferred
		w.deferrals.set(v.inputs(), deferred.behind(r.Addr.String()))
		w.walker.Extend(nil, func(bool) bool { return true }, func(_ dag.ID, wait func(id, on dag.ID)) {
			w.times.Add(nil)
			for _, in := range v.all() {
				for _, n := range w.graph.Instances(r, in.addr) {
					wait(n.ID, node.ID)
				}
			}
		})
		return nil
	case p == nil:
		return err
	}
	p.start(s)
	if len(p.errs) > 0 {
		return errReported // this keeps readers of single instances from starting
	}
	return nil
}

// planned finishes the planning of a resource after its instances have been planned.
func (v resourceVisit) planned(ctx context.Context) error {
	switch s := v.w.started[v.node().ID]; {
	case s.vertex == 0 && s.deferredBy != nil:
		return v.deferAll(ctx, s.deferredBy)
	case s.failed:
		return errReported
	}
	return nil
}
