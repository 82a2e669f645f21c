package engine

import (
	"cmp"
	"fmt"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
)

// unfinished holds the instances that have no final value yet, and panics if one of them is read.
// The edges of the graph must rule that out. Tests check it (see Env.CheckReads); the methods of a
// nil pointer do nothing.
type unfinished struct {
	mu        sync.Mutex
	instances map[addrs.AbsInstance]bool
	resources map[addrs.AbsResource]int // number of instances
}

// newUnfinished returns the instances that the Steps of a graph create or update.
func newUnfinished(g *graph.Graph) *unfinished {
	u := &unfinished{instances: map[addrs.AbsInstance]bool{}, resources: map[addrs.AbsResource]int{}}
	for _, n := range g.Nodes {
		if s, ok := n.Object.(*graph.Step); ok && !s.Removes() {
			u.add(s.Change.Addr)
		}
	}
	return u
}

// add adds an instance.
func (u *unfinished) add(addr addrs.AbsInstance) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.instances[addr] {
		u.instances[addr] = true
		u.resources[addr.Abs()]++
	}
}

// finish removes an instance, unless the work on it has failed: nothing may read it then either.
func (u *unfinished) finish(addr addrs.AbsInstance, err error) {
	if u == nil || err != nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.instances[addr] {
		delete(u.instances, addr)
		u.resources[addr.Abs()]--
	}
}

// check panics if an instance that is read has no final value.
func (u *unfinished) check(c *evalContext, read addrs.AbsInstance) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.instances[read] {
		c.panicAbout(read)
	}
}

// checkWhole panics if a resource that is read as a whole has an instance without a final value.
func (u *unfinished) checkWhole(c *evalContext, read addrs.AbsResource) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.resources[read] > 0 {
		c.panicAbout(read)
	}
}

// panicAbout panics because of a read that the graph must not allow.
func (c *evalContext) panicAbout(read fmt.Stringer) {
	reader := cmp.Or(c.blockAddr, graph.ModuleName(c.in.module.Path))
	panic(fmt.Sprintf("%s reads %s before it is finished", reader, read))
}
