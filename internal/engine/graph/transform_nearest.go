package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/states"
)

// findNearest sets the Deps of every resource: the managed resources that are reached from it
// without passing through another managed resource, and the data sources and ephemeral resources on
// the way. Equal sets share memory.
func (b *build) findNearest(order []dag.ID) {
	index := make(map[*Resource]int32, len(b.g.Resources))
	for i, r := range b.g.Resources {
		index[r] = int32(i)
	}
	reached := make([][]int32, b.g.Edges.Len())
	call := callDependencies{
		b:       b,
		reached: reached,
		by:      map[dag.ID]*Module{},
		without: map[setInModule][]int32{},
		deps:    make([][]int32, len(b.g.Resources)),
	}
	for _, m := range b.g.Modules {
		if m.expand != nil {
			call.by[m.expand.ID] = m
		}
	}
	lists := map[*int32][]addrs.ConfigResource{} // addresses of a set, by the set's first element
	for _, id := range order {
		n := b.g.Nodes[id]
		set := b.union(reached, b.g.Edges.Needs(id))
		for _, to := range b.g.Edges.Needs(id) {
			if m := call.by[to]; m != nil {
				set = call.withoutImplied(m, set)
			}
		}
		if m := n.Module; m != nil && n == m.end {
			set = call.withoutInner(call.withoutImplied(m, set))
		}
		if r := n.Resource; r != nil && n == r.Inputs {
			r.Deps = b.depAddrs(set, lists)
			call.deps[index[r]] = set
		}
		if r := n.Resource; r != nil && n.completes() {
			var own []int32 // empty for resources that only the state has: no other resource depends on them
			if r.Config != nil {
				own = []int32{index[r]}
			}
			if r.Addr.Resource.Mode != addrs.Managed {
				own = merge(own, set)
			}
			set = own
		}
		reached[id] = set
	}
}

// callDependencies removes the dependencies of module calls from sets where resources in the module
// imply them. Everything in a module waits for the dependencies of its call, so a set with a
// managed resource of the module need not list those. Otherwise each resource in a chain of calls
// with depends_on would store all resources before it.
type callDependencies struct {
	b       *build
	reached [][]int32
	by      map[dag.ID]*Module      // modules by the ID of their expand node
	without map[setInModule][]int32 // results of withoutImplied
	deps    [][]int32               // dependencies by resource index
}

// setInModule identifies a shared set by its address, and the module whose call's dependencies are
// removed from it.
type setInModule struct {
	first  *int32
	len    int
	module *Module
}

// withoutImplied returns set without the dependencies of the call of m if it has a managed resource
// in m, otherwise set itself.
func (c *callDependencies) withoutImplied(m *Module, set []int32) []int32 {
	outer := c.reached[m.expand.ID]
	if len(set) == 0 || len(outer) == 0 {
		return set
	}
	key := setInModule{&set[0], len(set), m}
	if out, ok := c.without[key]; ok {
		return out
	}
	out := set
	if slices.ContainsFunc(set, func(i int32) bool { return c.b.g.Resources[i].managedIn(m) }) {
		out = slices.DeleteFunc(slices.Clone(set), func(i int32) bool {
			_, found := slices.BinarySearch(outer, i)
			return found
		})
	}
	c.without[key] = out
	return out
}

// withoutInner returns the resources of a set on which no managed resource of the set depends:
// waiting for those is enough to wait for all.
func (c *callDependencies) withoutInner(set []int32) []int32 {
	inner := map[int32]bool{}
	seen := map[*int32]bool{} // resources share sets
	for _, i := range set {
		if deps := c.deps[i]; c.b.g.Resources[i].Addr.Resource.Mode == addrs.Managed && len(deps) > 0 &&
			!seen[&deps[0]] {
			seen[&deps[0]] = true
			for _, dep := range deps {
				inner[dep] = true
			}
		}
	}
	if len(inner) == 0 {
		return set
	}
	return slices.DeleteFunc(slices.Clone(set), func(i int32) bool { return inner[i] })
}

// managedIn reports whether r is a configured managed resource in m or in a module below m.
func (r *Resource) managedIn(m *Module) bool {
	if r.Addr.Resource.Mode != addrs.Managed || r.Config == nil {
		return false
	}
	for at := r.Module; at != nil; at = at.Parent {
		if at == m {
			return true
		}
	}
	return false
}

// union returns the union of the sets that the needs of a node reach. If one set contains all
// others, the result is that set.
func (b *build) union(reached [][]int32, needs []dag.ID) []int32 {
	var sets [][]int32
	largest, total := 0, 0
	for _, to := range needs {
		set := reached[to]
		if len(set) == 0 {
			continue
		}
		sets = append(sets, set)
		total += len(set)
		if len(set) > len(sets[largest]) {
			largest = len(sets) - 1
		}
	}
	switch {
	case len(sets) == 0:
		return nil
	case contains(sets[largest], sets):
		return sets[largest]
	case len(sets) == 2:
		return merge(sets[0], sets[1])
	}
	out := make([]int32, 0, total)
	for _, set := range sets {
		out = append(out, set...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// contains reports whether all contains the elements of all sets. They are sorted.
func contains(all []int32, sets [][]int32) bool {
	for _, set := range sets {
		if &set[0] == &all[0] {
			continue
		}
		for _, n := range set {
			if _, ok := slices.BinarySearch(all, n); !ok {
				return false
			}
		}
	}
	return true
}

// merge returns the union of two sorted sets.
func merge(a, b []int32) []int32 {
	out := make([]int32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case a[0] > b[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// depAddrs returns the sorted addresses of the resources in a set. Equal sets share one list.
func (b *build) depAddrs(set []int32, lists map[*int32][]addrs.ConfigResource) []addrs.ConfigResource {
	if len(set) == 0 {
		return nil
	}
	if list := lists[&set[0]]; len(list) == len(set) {
		return list
	}
	out := make([]addrs.ConfigResource, len(set))
	for i, n := range set {
		out[i] = b.g.Resources[n].Addr
	}
	slices.SortFunc(out, states.CompareDependencies)
	lists[&set[0]] = out
	return out
}
