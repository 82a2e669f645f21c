package engine

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/tfdiags"
)

// unfinished holds the instances that don't have their final value yet. The edges of the graph
// should prevent expressions from reading them. As a safeguard against a missing edge, a reader of
// such an instance waits for it, so no missing or outdated value is used. In tests, the walk panics
// instead (see Env.CheckReads). If the instance waits for the reader itself, or has failed, the
// expression fails. The methods of a nil pointer do nothing, so readers never wait.
type unfinished struct {
	w      *walk
	strict bool // whether to panic if an instance is read too early; see Env.CheckReads

	mu        sync.Mutex // guards the instances
	resources map[addrs.AbsResource]*unfinishedInstances
}

// unfinishedInstances are the instances of a resource that had no final value when they were added.
type unfinishedInstances struct {
	keys     []addrs.InstanceKey // sorted
	finished []bool              // parallel to keys

	completed bool // the value of the resource is final
	// steps are parallel to keys. They finish the instances in an apply. In a plan, the vertex first and
	// those that follow it do. They are 0 until the planning starts. After the vertex last, the resource's
	// value is final.
	steps       []*reads.Step
	first, last dag.ID
}

// newUnfinished returns the instances that Steps in the graph of a walk create, update or read.
func newUnfinished(w *walk) *unfinished {
	u := &unfinished{w: w, strict: w.op.env.CheckReads, resources: map[addrs.AbsResource]*unfinishedInstances{}}
	for _, n := range w.graph.Nodes {
		if s := n.Step(); s != nil && !s.Removes() {
			of := u.of(s.Change.Addr.Abs())
			of.steps = append(of.steps, s)
		}
	}
	for _, of := range u.resources {
		key := func(s *reads.Step) addrs.InstanceKey { return s.Change.Addr.Key }
		slices.SortFunc(of.steps, func(a, b *reads.Step) int { return key(a).Compare(key(b)) })
		of.steps = slices.CompactFunc(of.steps, func(a, b *reads.Step) bool { return key(a) == key(b) })
		of.keys = make([]addrs.InstanceKey, len(of.steps))
		for i, s := range of.steps {
			of.keys[i] = key(s)
		}
		of.finished = make([]bool, len(of.keys))
	}
	return u
}

// of returns the instances of a resource.
func (u *unfinished) of(addr addrs.AbsResource) *unfinishedInstances {
	of := u.resources[addr]
	if of == nil {
		of = &unfinishedInstances{}
		u.resources[addr] = of
	}
	return of
}

// add adds the instances of a resource that are about to be planned. The keys must be sorted.
func (u *unfinished) add(addr addrs.AbsResource, keys []addrs.InstanceKey) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	*u.of(addr) = unfinishedInstances{keys: keys, finished: make([]bool, len(keys))}
}

// drop removes the instances of a resource that is deferred, because their values no longer change.
func (u *unfinished) drop(addr addrs.AbsResource) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.resources, addr)
}

// start records the vertices that plan the instances of a resource: the first one, and the one that
// waits for all of them.
func (u *unfinished) start(addr addrs.AbsResource, first, last dag.ID) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	of := u.of(addr)
	of.first, of.last = first, last
}

// find returns the position of an instance, and reports whether it has no final value yet.
func (i *unfinishedInstances) find(key addrs.InstanceKey) (at int, unfinished bool) {
	if i == nil {
		return 0, false
	}
	at, found := slices.BinarySearchFunc(i.keys, key, addrs.InstanceKey.Compare)
	return at, found && !i.finished[at]
}

// finish records that the value of an instance is final. If err is not nil, it does nothing,
// because an instance that has failed must not be read.
func (u *unfinished) finish(addr addrs.AbsInstance, err error) {
	if u == nil || err != nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	of := u.resources[addr.Abs()]
	if at, unfinished := of.find(addr.Key); unfinished {
		of.finished[at] = true
	}
}

// completed records that the value of a resource is final.
func (u *unfinished) completed(addr addrs.AbsResource) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if of := u.resources[addr]; of != nil {
		of.completed = true
	}
}

// maker returns the vertex that finishes the instance at the given position. It returns noVertex if
// that is not known.
func (i *unfinishedInstances) maker(at int) dag.ID {
	switch {
	case i.steps != nil:
		return i.steps[at].Node.ID
	case i.last > 0:
		return i.first + dag.ID(at)
	}
	return noVertex
}

const noVertex dag.ID = -1

// wait waits for an instance that an expression reads, and reports whether the instance has its
// final value.
func (u *unfinished) wait(c *evalContext, read addrs.AbsInstance) bool {
	if u == nil {
		return true
	}
	u.mu.Lock()
	of := u.resources[read.Abs()]
	at, early := of.find(read.Key)
	on := noVertex
	if early {
		on = of.maker(at)
	}
	u.mu.Unlock()
	return !early || u.await(c, read, on) == ""
}

// waitWhole waits for a resource that an expression reads as a whole. It returns an error if the
// resource can't get its final value.
func (u *unfinished) waitWhole(c *evalContext, read addrs.AbsResource) error {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	of := u.resources[read]
	early := of != nil && !of.completed
	var on []dag.ID
	switch {
	case !early:
	case of.last > 0:
		on = []dag.ID{of.last}
	default:
		for at, finished := range of.finished {
			if !finished {
				on = append(on, of.maker(at))
			}
		}
	}
	u.mu.Unlock()
	switch {
	case !early && u.undecided(c, read):
		d := u.tooEarly(c, read, "its instances aren't decided")
		if u.strict {
			panic(d.Detail)
		}
		return d
	case !early:
		return nil
	}
	for _, one := range on {
		if problem := u.await(c, read, one); problem != "" {
			return u.tooEarly(c, read, problem)
		}
	}
	return nil
}

// undecided reports whether the graph lets a plan read a resource before its instances are decided.
func (u *unfinished) undecided(c *evalContext, read addrs.AbsResource) bool {
	if u.w.op.Phase != phase.Plan || c.visited == nil {
		return false
	}
	r := u.w.graph.Resource(read.Config())
	if r.Config == nil || r.Node.Dropped || c.in.resources[r.Slot] != nil {
		return false
	}
	n := u.w.graph.NodeIn(r.Node, c.in.addr)
	_, finished := u.w.walker.Outcome(n.ID)
	return !finished && c.visited != n && c.visited != u.w.graph.NodeIn(r.Inputs, c.in.addr)
}

// await makes the reader of an expression wait until the value that it reads is final. If u.strict
// is set, await panics instead. It returns "" if the value is final, and otherwise a clause that
// says why not.
func (u *unfinished) await(c *evalContext, read fmt.Stringer, on dag.ID) (problem string) {
	if u.strict {
		panic(u.tooEarly(c, read, "no edge of the graph makes it wait").Detail)
	}
	if c.visited == nil || c.passive || on == noVertex {
		return "their order isn't known" // waiting could take forever
	}
	if c.e.slotOf != nil {
		defer u.w.calls.leave(c.e.slotOf)()
	}
	outcome, waited := u.w.walker.Await(c.vertex, on)
	switch succeeded := outcome == dag.Done; {
	case !waited:
		return "its value depends on the reader"
	case !succeeded && u.w.halt.isSet():
		return "the operation was interrupted"
	case !succeeded:
		return "its evaluation failed or was left out"
	}
	return ""
}

// tooEarly returns the error for a read of an unfinished value that can't wait for it. The graph should
// prevent such reads.
func (u *unfinished) tooEarly(c *evalContext, read fmt.Stringer, problem string) tfdiags.Diagnostic {
	reader := cmp.Or(c.blockAddr, reads.ModuleName(c.in.module.Path))
	if c.blockAddr == "" && c.visited != nil {
		reader = c.visited.Name
	}
	return tfdiags.Errorf("Instance read too early", "%s reads %s before it is finished, and can't wait for it, because "+
		"%s. The unfinished value was not used. This is a bug in this program: please report it, and include the "+
		"block in the report.", reader, read, problem)
}
