package engine

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/tfdiags"
)

// unfinished holds the instances that have no final value yet. The edges of the graph must rule out
// that one of them is read. If one is all the same, the expression fails, so that nothing is done
// with a value that is missing or out of date; in tests, the run ends (see Env.CheckReads). The
// methods of a nil pointer do nothing.
type unfinished struct {
	ends bool // a read that is too early ends the run

	mu        sync.Mutex // guards the instances
	resources map[addrs.AbsResource]*unfinishedInstances
}

// unfinishedInstances are the instances of a resource that have had no final value at first.
type unfinishedInstances struct {
	keys     []addrs.InstanceKey // sorted
	finished []bool              // parallel to keys
	left     int
}

// newUnfinished returns the instances that the Steps of a graph create or update.
func newUnfinished(g *graph.Graph, ends bool) *unfinished {
	u := &unfinished{ends: ends, resources: map[addrs.AbsResource]*unfinishedInstances{}}
	for _, n := range g.Nodes {
		if s, ok := n.Object.(*graph.Step); ok && !s.Removes() {
			of := u.of(s.Change.Addr.Abs())
			of.keys = append(of.keys, s.Change.Addr.Key)
		}
	}
	for _, of := range u.resources {
		slices.SortFunc(of.keys, addrs.InstanceKey.Compare)
		of.keys = slices.Compact(of.keys)
		of.finished, of.left = make([]bool, len(of.keys)), len(of.keys)
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

// add adds the instances of a resource. Their keys are sorted.
func (u *unfinished) add(addr addrs.AbsResource, keys []addrs.InstanceKey) {
	u.mu.Lock()
	defer u.mu.Unlock()
	*u.of(addr) = unfinishedInstances{keys: keys, finished: make([]bool, len(keys)), left: len(keys)}
}

// find returns the position of an instance, and reports whether it has no final value yet.
func (i *unfinishedInstances) find(key addrs.InstanceKey) (at int, unfinished bool) {
	if i == nil {
		return 0, false
	}
	at, found := slices.BinarySearchFunc(i.keys, key, addrs.InstanceKey.Compare)
	return at, found && !i.finished[at]
}

// finish removes an instance, unless the work on it has failed: nothing may read it then either.
func (u *unfinished) finish(addr addrs.AbsInstance, err error) {
	if u == nil || err != nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	of := u.resources[addr.Abs()]
	if at, unfinished := of.find(addr.Key); unfinished {
		of.finished[at] = true
		of.left--
	}
}

// has reports whether an instance that an expression reads has no final value.
func (u *unfinished) has(c *evalContext, read addrs.AbsInstance) bool {
	if u == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	_, early := u.resources[read.Abs()].find(read.Key)
	if early && u.ends {
		panic(c.readsTooEarly(read))
	}
	return early
}

// checkWhole returns an error if a resource that an expression reads as a whole has an instance
// without a final value.
func (u *unfinished) checkWhole(c *evalContext, read addrs.AbsResource) error {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch of := u.resources[read]; {
	case of == nil || of.left == 0:
		return nil
	case u.ends:
		panic(c.readsTooEarly(read))
	}
	return tfdiags.Errorf("Instance read too early",
		"%s. This is a bug of this program; please report it with the block. Nothing was done with the unfinished "+
			"value. With depends_on = [%s], the block waits for all instances.", c.readsTooEarly(read), read.Resource)
}

// readsTooEarly describes a read that the graph must not allow.
func (c *evalContext) readsTooEarly(read fmt.Stringer) string {
	reader := cmp.Or(c.blockAddr, graph.ModuleName(c.in.module.Path))
	return fmt.Sprintf("%s reads %s before it is finished", reader, read)
}
