package dag

import "slices"

// Cycles returns one cycle from each strongly connected component that has a cycle. Every vertex of
// a cycle depends on the next one, and the last depends on the first. Cycles uses Tarjan's
// algorithm without recursion.
func (g *Graph) Cycles() [][]ID {
	t := tarjan{g: g, index: make([]int32, g.Len()), low: make([]int32, g.Len()), onStack: make([]bool, g.Len())}
	for id := range g.needs {
		if t.index[id] == 0 {
			t.visit(ID(id))
		}
	}
	return t.cycles
}

type tarjan struct {
	g          *Graph
	index, low []int32
	onStack    []bool
	stack      []ID
	next       int32
	cycles     [][]ID
}

type frame struct {
	id   ID
	edge int
}

func (t *tarjan) visit(root ID) {
	t.open(root)
	frames := []frame{{id: root}}
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		if f.edge < len(t.g.needs[f.id]) {
			to := t.g.needs[f.id][f.edge]
			f.edge++
			if t.index[to] == 0 {
				t.open(to)
				frames = append(frames, frame{id: to})
			} else if t.onStack[to] {
				t.low[f.id] = min(t.low[f.id], t.index[to])
			}
			continue
		}
		id := f.id
		frames = frames[:len(frames)-1]
		if len(frames) > 0 {
			parent := frames[len(frames)-1].id
			t.low[parent] = min(t.low[parent], t.low[id])
		}
		if t.low[id] == t.index[id] {
			t.closeComponent(id)
		}
	}
}

func (t *tarjan) open(id ID) {
	t.next++
	t.index[id], t.low[id] = t.next, t.next
	t.stack = append(t.stack, id)
	t.onStack[id] = true
}

func (t *tarjan) closeComponent(root ID) {
	at := len(t.stack) - 1
	for t.stack[at] != root {
		at--
	}
	members := t.stack[at:]
	t.stack = t.stack[:at]
	for _, id := range members {
		t.onStack[id] = false
	}
	if len(members) > 1 || slices.Contains(t.g.needs[root], root) {
		t.cycles = append(t.cycles, t.g.cycle(members))
	}
}

// cycle returns a shortest cycle through the first member of a component.
func (g *Graph) cycle(members []ID) []ID {
	in := make(map[ID]bool, len(members))
	for _, id := range members {
		in[id] = true
	}
	start := members[0]
	from := map[ID]ID{}
	for todo := []ID{start}; len(todo) > 0; todo = todo[1:] {
		id := todo[0]
		for _, to := range g.needs[id] {
			if to == start {
				cycle := []ID{id}
				for id != start {
					id = from[id]
					cycle = append(cycle, id)
				}
				slices.Reverse(cycle)
				return cycle
			}
			if _, seen := from[to]; !seen && in[to] {
				from[to] = id
				todo = append(todo, to)
			}
		}
	}
	panic("unreachable: a component's first member lies on a cycle")
}

// Cyclic reports, by ID, which vertices are on a cycle or on a path from one cycle to another.
func (g *Graph) Cyclic() []bool {
	dependents := g.Dependents()
	ahead, behind := unordered(g.needs, dependents), unordered(dependents, g.needs)
	for id := range ahead {
		ahead[id] = ahead[id] && behind[id]
	}
	return ahead
}

// unordered reports, by ID, which vertices a topological order can't contain: vertices on a cycle
// and their direct and indirect dependents.
func unordered(needs, dependents [][]ID) []bool {
	left := make([]bool, len(needs))
	pending := make([]int, len(needs))
	var ready []ID
	for id := range needs {
		left[id] = true
		pending[id] = len(needs[id])
		if pending[id] == 0 {
			ready = append(ready, ID(id))
		}
	}
	for len(ready) > 0 {
		id := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		left[id] = false
		for _, from := range dependents[id] {
			pending[from]--
			if pending[from] == 0 {
				ready = append(ready, from)
			}
		}
	}
	return left
}
