package states

import (
	"cmp"
	"slices"

	"tofu/internal/addrs"
)

// WithIndirect returns, for sets of dependencies of objects in the state, the same sets with the
// indirect dependencies: those of the resources in the set, and so on. Programs that order
// destructions only by what an object lists need them. Sets without indirect dependencies are left
// out. A chain of n resources has n²/2 indirect dependencies, so a set gets the nearest ones up to a
// number that depends on the size of the state.
func (s *State) WithIndirect() map[*Dependencies]*Dependencies {
	search := newIndirectSearch(s)
	numbers := map[*Dependencies][]int{} // nil for sets without indirect dependencies
	for _, user := range search.users {
		all, known := numbers[user.set]
		if !known {
			all = search.complete(user.set)
			numbers[user.set] = all
		}
		if slices.Contains(all, user.resource) { // on a cycle, which must not become larger
			numbers[user.set] = nil
		}
	}
	out := make(map[*Dependencies]*Dependencies)
	ranks := search.ranks()
	for set, all := range numbers {
		if all != nil {
			slices.SortFunc(all, func(a, b int) int { return cmp.Compare(ranks[a], ranks[b]) })
			list := make([]addrs.ConfigResource, len(all))
			for i, n := range all {
				list[i] = search.addrs[n]
			}
			out[set] = &Dependencies{list}
		}
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
