package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/states"
)

// nearest finds, for every resource, the resources that are reached from it without passing through another managed one. Values
// hand on what they reach; sets that are the same are shared.
func (b *build) findNearest(order []dag.ID) {
	index := make(map[*Resource]int32, len(b.g.Resources))
	for i, r := range b.g.Resources {
		index[r] = int32(i)
	}
	reached := make([][]int32, b.g.Edges.Len())
	call := callDependencies{b: b, reached: reached, by: map[dag.ID]*Module{}, without: map[setInModule][]int32{}, deps: make([][]int32, len(b.g.Resources))}
	for _, m := range b.g.Modules {
		if m.expand != nil {
			call.by[m.expand.ID] = m
		}
	}
	lists := map[*int32][]addrs.ConfigResource{} // by the first element of a set: sets are shared, so lists are
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
			var own []int32 // what is in the state only goes, and nothing depends on it any more
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

// callDependencies leaves out of sets what a module's own resources stand for: everything in a module waits for what the call depends
// on, so whoever reaches a managed resource in it need not name that as well. Otherwise a chain of calls with depends_on would store
// for each resource all those before it.
type callDependencies struct {
	b       *build
	reached [][]int32
	by      map[dag.ID]*Module      // by the node that decides the module's instances
	without map[setInModule][]int32 // what is left of sets, which are shared
	deps    [][]int32               // by resource
}

type setInModule struct {
	first  *int32
	len    int
	module *Module
}

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

// ends leaves out of what is in a module those resources that others in it depend on: to wait for the module it is enough to wait for
// the latter.
func (c *callDependencies) withoutInner(set []int32) []int32 {
	inner := map[int32]bool{}
	seen := map[*int32]bool{} // resources share sets
	for _, i := range set {
		if deps := c.deps[i]; c.b.g.Resources[i].Addr.Resource.Mode == addrs.Managed && len(deps) > 0 && !seen[&deps[0]] {
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

// managedIn tells whether a managed resource is in a module or in one that it calls.
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

// union unites what the needs of a node reach. A set that has all the others in it is shared.
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

// contains tells whether all elements of some sorted sets are in one.
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

// merge unites two sorted sets.
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
