package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
	"tofu/internal/states"
)

// resourceSet is an immutable set of resources. Nodes that reach the same resources usually share a
// set, so that work on the set is done once. Nil is the empty set.
type resourceSet struct {
	indexes []int32              // indexes of the resources, sorted
	deps    *states.Dependencies // addresses of the resources; nil until first used
}

// all returns the indexes of the resources, sorted.
func (s *resourceSet) all() []int32 {
	if s == nil {
		return nil
	}
	return s.indexes
}

// newResourceSet returns the set with the given sorted indexes.
func newResourceSet(indexes []int32) *resourceSet {
	if len(indexes) == 0 {
		return nil
	}
	return &resourceSet{indexes: indexes}
}

// filter returns the set of the elements for which keep returns true.
func (s *resourceSet) filter(keep func(int32) bool) *resourceSet {
	return newResourceSet(slices.DeleteFunc(slices.Clone(s.all()), func(i int32) bool { return !keep(i) }))
}

// has reports whether the set contains the resource with the given index.
func (s *resourceSet) has(index int32) bool {
	_, ok := slices.BinarySearch(s.all(), index)
	return ok
}

// containsAll reports whether the set contains the elements of all sets.
func (s *resourceSet) containsAll(sets []*resourceSet) bool {
	lacks := func(i int32) bool { return !s.has(i) }
	for _, other := range sets {
		if other != s && slices.ContainsFunc(other.indexes, lacks) {
			return false
		}
	}
	return true
}

// union returns the union of sets that are not empty. If one of them contains all others, the
// result is that set.
func union(sets []*resourceSet) *resourceSet {
	if len(sets) == 0 {
		return nil
	}
	largest, total := sets[0], 0
	for _, set := range sets {
		total += len(set.indexes)
		if len(set.indexes) > len(largest.indexes) {
			largest = set
		}
	}
	switch {
	case largest.containsAll(sets):
		return largest
	case len(sets) == 2:
		return &resourceSet{indexes: merge(sets[0].indexes, sets[1].indexes)}
	}
	out := make([]int32, 0, total)
	for _, set := range sets {
		out = append(out, set.indexes...)
	}
	slices.Sort(out)
	return &resourceSet{indexes: slices.Compact(out)}
}

// merge returns the union of two sorted lists.
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

// dependencies returns the addresses of the resources in a set.
func (b *build) dependencies(set *resourceSet) *states.Dependencies {
	if set == nil {
		return nil
	}
	if set.deps == nil {
		list := make([]addrs.ConfigResource, len(set.indexes))
		for i, n := range set.indexes {
			list[i] = b.g.Resources[n].Addr
		}
		set.deps = states.NewDependencies(list)
	}
	return set.deps
}

// nearest finds the nearest dependencies of all resources.
type nearest struct {
	b       *build
	edges   *dag.Graph
	index   map[*reads.Resource]int32
	reached []*resourceSet // by node ID: the resources that the node reaches
	deps    []*resourceSet // by resource index: the nearest dependencies
	// own holds, by resource index, the set of the resource alone. It is empty for resources that
	// exist only in the state, because no block can refer to them.
	own     []*resourceSet
	modules map[dag.ID]*reads.Module // modules by the ID of their expand node
	without map[setInModule]*resourceSet
}

// setInModule is the key of a remembered result of withoutImplied.
type setInModule struct {
	set    *resourceSet
	module *reads.Module
}

// findNearest sets Recorded.Dependencies of every resource: the managed resources that can be
// reached from it without passing through another managed resource, and the data sources and
// ephemeral resources on these paths. order is a topological order of the graph.
func (b *build) findNearest(order []dag.ID) {
	f := &nearest{
		b: b, edges: b.refs(), index: make(map[*reads.Resource]int32, len(b.g.Resources)),
		reached: make([]*resourceSet, b.refs().Len()),
		deps:    make([]*resourceSet, len(b.g.Resources)), own: make([]*resourceSet, len(b.g.Resources)),
		modules: map[dag.ID]*reads.Module{}, without: map[setInModule]*resourceSet{},
	}
	for i, r := range b.g.Resources {
		f.index[r] = int32(i)
		if r.Config != nil {
			f.own[i] = newResourceSet([]int32{int32(i)})
		}
	}
	for _, m := range b.g.Modules {
		if m.Expand != nil {
			f.modules[m.Expand.ID] = m
		}
	}
	for _, id := range order {
		f.visit(b.g.Nodes[id])
	}
	f.setSiblingNeeds()
}

func (f *nearest) visit(n *reads.Node) {
	needs := f.edges.Needs(n.ID)
	sets := make([]*resourceSet, 0, len(needs))
	for _, to := range needs {
		if f.reached[to] == nil {
			continue
		}
		sets = append(sets, f.reached[to])
	}
	set := union(sets)
	for _, to := range needs {
		if m := f.modules[to]; m != nil {
			set = f.withoutImplied(m, set)
		}
	}
	if m := n.Module; m != nil && n == m.End {
		set = f.withoutInner(f.withoutImplied(m, set))
	}
	r := n.Resource
	if r != nil && n == r.Inputs {
		r.Recorded.Dependencies = f.b.dependencies(set)
		f.deps[f.index[r]] = set
	}
	f.passSiblingReads(n)
	if r != nil && n.Kind == reads.KindResource {
		own := f.own[f.index[r]]
		if r.Addr.Resource.Mode != addrs.Managed {
			own = newResourceSet(merge(own.all(), set.all()))
		}
		set = own
	}
	f.reached[n.ID] = set
}

// withoutImplied removes the dependencies of the call of m from a set that has a managed resource
// in m. That resource implies them, because everything in a module waits for the dependencies of
// its call. Otherwise each resource in a chain of calls with depends_on would store all resources
// before it.
func (f *nearest) withoutImplied(m *reads.Module, set *resourceSet) *resourceSet {
	outer := f.reached[m.Expand.ID]
	if set == nil || outer == nil {
		return set
	}
	key := setInModule{set, m}
	if out, ok := f.without[key]; ok {
		return out
	}
	out := set
	inModule := func(i int32) bool { return managedIn(f.b.g.Resources[i], m) }
	if slices.ContainsFunc(set.indexes, inModule) {
		out = set.filter(func(i int32) bool { return !outer.has(i) })
	}
	f.without[key] = out
	return out
}

// withoutInner returns the resources of a set on which no managed resource in the set depends.
// Waiting for them is enough to wait for all resources in the set.
func (f *nearest) withoutInner(set *resourceSet) *resourceSet {
	inner := map[int32]bool{}
	seen := map[*resourceSet]bool{}
	for _, i := range set.all() {
		deps := f.deps[i]
		if f.b.g.Resources[i].Addr.Resource.Mode != addrs.Managed || seen[deps] {
			continue
		}
		seen[deps] = true
		for _, dep := range deps.all() {
			inner[dep] = true
		}
	}
	if len(inner) == 0 {
		return set
	}
	return set.filter(func(i int32) bool { return !inner[i] })
}

// managedIn reports whether r is a configured managed resource in m or in a module below m.
func managedIn(r *reads.Resource, m *reads.Module) bool {
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
