package states

import (
	"cmp"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
)

// Listed says which dependencies the objects of a state list in a file, for programs that order
// destructions only by these lists.
type Listed struct {
	acyclic  map[setOf]*Dependencies         // sets that are without some dependencies
	indirect map[*Dependencies]*Dependencies // sets with their indirect dependencies
}

// setOf is a set of dependencies that objects of a resource have.
type setOf struct {
	set *Dependencies
	of  addrs.ConfigResource
}

// Acyclic returns a set of dependencies of a resource without those that close a cycle. Other
// programs can't destroy objects on a cycle. The instances of resources can depend on each other
// without a cycle of instances, for example after moves.
func (l *Listed) Acyclic(of addrs.ConfigResource, set *Dependencies) *Dependencies {
	if without, ok := l.acyclic[setOf{set, of}]; ok {
		return without
	}
	return set
}

// Indirect returns a result of Acyclic with its indirect dependencies: those of the resources in the
// set, and so on. It returns nil if there are none. A chain of n resources has n²/2 indirect
// dependencies, so a set gets the nearest ones up to a number that depends on the size of the state.
func (l *Listed) Indirect(set *Dependencies) *Dependencies { return l.indirect[set] }

// Listed finds the dependencies that all objects of the state list.
func (s *State) Listed() *Listed {
	search := newIndirectSearch(s)
	ranks := search.ranks()
	out := &Listed{search.cutCycles(s, ranks), make(map[*Dependencies]*Dependencies)}
	for _, user := range search.users {
		if _, known := out.indirect[user.set]; known {
			continue
		}
		all := search.complete(user.set)
		if all == nil {
			out.indirect[user.set] = nil
			continue
		}
		slices.SortFunc(all, func(a, b int) int { return cmp.Compare(ranks[a], ranks[b]) })
		list := make([]addrs.ConfigResource, len(all))
		for i, n := range all {
			list[i] = search.addrs[n]
		}
		out.indirect[user.set] = &Dependencies{list}
	}
	return out
}

// Limits of the indirect dependencies in a state with n objects: maxIndirect + n × minIndirect.
const (
	maxIndirect = 1 << 15
	minIndirect = 4
)

// An indirectSearch finds indirect dependencies. It is needed for every snapshot, so resources are
// numbers in it, which are faster than maps of addresses.
type indirectSearch struct {
	users []dependencyUser

	addrs   []addrs.ConfigResource       // the address of each number
	numbers map[addrs.ConfigResource]int // the number of each address
	direct  [][]int                      // the dependencies of each resource
	sets    map[*Dependencies][]int      // the numbers of each set
	limit   int                          // of the indirect dependencies of one set

	found    []int // for each resource, the number of the last search that found it
	searches int
	list     []int // what the search has found
}

// A dependencyUser is a resource, by its number, and a set of dependencies that its objects have.
type dependencyUser struct {
	resource int
	set      *Dependencies
}

func newIndirectSearch(s *State) *indirectSearch {
	f := &indirectSearch{numbers: map[addrs.ConfigResource]int{}, sets: map[*Dependencies][]int{}}
	var sets []*Dependencies // of the objects of each resource
	objects := 0
	for r := range s.Resources() {
		objects += len(r.Instances)
		n := f.number(r.Addr.Config())
		for len(sets) <= n {
			sets = append(sets, nil)
		}
		var last *Dependencies
		for _, inst := range r.Instances {
			for o := range inst.Objects() {
				if o.Dependencies != last {
					last = o.Dependencies
					f.users = append(f.users, dependencyUser{n, last})
					sets[n] = sets[n].Union(last)
				}
			}
		}
	}
	for _, set := range sets {
		f.direct = append(f.direct, f.numbersOf(set))
	}
	f.direct = append(f.direct, make([][]int, len(f.addrs)-len(sets))...) // resources without objects
	f.found = make([]int, len(f.addrs))
	f.limit = maxIndirect/max(objects, 1) + minIndirect
	return f
}

func (f *indirectSearch) number(addr addrs.ConfigResource) int {
	n, ok := f.numbers[addr]
	if !ok {
		n = len(f.addrs)
		f.numbers[addr] = n
		f.addrs = append(f.addrs, addr)
	}
	return n
}

func (f *indirectSearch) numbersOf(set *Dependencies) []int {
	out, ok := f.sets[set]
	if !ok {
		out = make([]int, set.Len())
		for i, dep := range set.sorted() {
			out[i] = f.number(dep)
		}
		f.sets[set] = out
	}
	return out
}

// cutCycles removes dependencies until there is no cycle, and returns the sets that have changed. On
// and between cycles, it first removes dependencies that only some objects of a resource have. A
// moved object may still have those of its former resource. What all objects depend on is likely to
// be in the configuration, from which other programs would add it again.
func (f *indirectSearch) cutCycles(s *State, ranks []int) map[setOf]*Dependencies {
	order := make([]int, len(ranks))
	for n, rank := range ranks {
		order[rank] = n
	}
	need := func(id dag.ID, i int) (dag.ID, bool) {
		needs := f.direct[order[id]]
		if i == len(needs) {
			return 0, false
		}
		return dag.ID(ranks[needs[i]]), true
	}
	if dag.Acyclic(len(order), need) {
		return nil
	}
	cut := make([]*Dependencies, len(f.addrs))
	remove := func(n int, list []addrs.ConfigResource) {
		if len(list) == 0 {
			return
		}
		gone := NewDependencies(list)
		f.direct[n] = slices.DeleteFunc(slices.Clone(f.direct[n]), func(dep int) bool { return gone.Has(f.addrs[dep]) })
		cut[n] = cut[n].Union(gone)
	}
	common, cyclic := s.common(), f.cyclic()
	for n, needs := range f.direct {
		var some []addrs.ConfigResource
		for _, dep := range needs {
			if cyclic[n] && cyclic[dep] && !common[f.addrs[n]].Has(f.addrs[dep]) {
				some = append(some, f.addrs[dep])
			}
		}
		remove(n, some)
	}
	closing := map[int][]addrs.ConfigResource{}
	for id, i := range dag.Closing(len(order), need) {
		n := order[id]
		closing[n] = append(closing[n], f.addrs[f.direct[n][i]])
	}
	for n, list := range closing {
		remove(n, list)
	}
	out := map[setOf]*Dependencies{}
	for i, user := range f.users {
		if cut[user.resource] != nil {
			key := setOf{user.set, f.addrs[user.resource]}
			if _, known := out[key]; !known {
				out[key] = user.set.Without(cut[user.resource])
			}
			f.users[i].set = out[key]
		}
	}
	return out
}

// cyclic returns whether each resource is on a cycle or between cycles.
func (f *indirectSearch) cyclic() []bool {
	g := new(dag.Graph)
	for range f.addrs {
		g.Add()
	}
	for n, needs := range f.direct {
		for _, dep := range needs {
			g.Connect(dag.ID(n), dag.ID(dep))
		}
	}
	return g.Cyclic()
}

// common returns the dependencies that all objects of a resource have.
func (s *State) common() map[addrs.ConfigResource]*Dependencies {
	out := map[addrs.ConfigResource]*Dependencies{}
	for r := range s.Resources() {
		of := r.Addr.Config()
		for _, inst := range r.Instances {
			for o := range inst.Objects() {
				all, known := out[of]
				switch {
				case !known:
					all = o.Dependencies
				case all != o.Dependencies:
					all = all.Without(all.Without(o.Dependencies))
				}
				out[of] = all
			}
		}
	}
	return out
}

// complete returns the set with up to limit indirect dependencies, the nearest first, or nil if there
// are none.
func (f *indirectSearch) complete(set *Dependencies) []int {
	f.searches++
	f.list = append(f.list[:0], f.numbersOf(set)...)
	for _, n := range f.list {
		f.found[n] = f.searches
	}
	steps := set.Len() + 16*f.limit
	for i := 0; i < len(f.list) && f.visit(f.list[i], set.Len()+f.limit, &steps); i++ {
	}
	if len(f.list) == set.Len() {
		return nil
	}
	return slices.Clone(f.list)
}

// visit adds the dependencies of a resource. It returns false at the end of the search: the list has
// the given length, or most of what the search finds is known.
func (f *indirectSearch) visit(n, length int, steps *int) bool {
	for _, dep := range f.direct[n] {
		if *steps--; *steps < 0 || len(f.list) == length {
			return false
		}
		if f.found[dep] != f.searches {
			f.found[dep] = f.searches
			f.list = append(f.list, dep)
		}
	}
	return true
}

// ranks returns the position of each resource in the order of sets.
func (f *indirectSearch) ranks() []int {
	order := make([]int, len(f.addrs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return compareDependencies(f.addrs[a], f.addrs[b]) })
	ranks := make([]int, len(order))
	for rank, n := range order {
		ranks[n] = rank
	}
	return ranks
}
