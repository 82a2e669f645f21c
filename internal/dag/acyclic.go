package dag

import "iter"

// Acyclic reports whether the graph has no cycle. It needs less memory than Order.
func (g *Graph) Acyclic() bool {
	return Acyclic(g.Len(), g.need)
}

// need returns dependency number i of a vertex, or false if the vertex has no more dependencies.
func (g *Graph) need(id ID, i int) (ID, bool) {
	if i == len(g.needs[id]) {
		return 0, false
	}
	return g.needs[id][i], true
}

// Acyclic reports whether a graph with n vertices has no cycle. It is for graphs that are not
// stored as a Graph. need returns dependency number i of a vertex, counted from 0, or false if the
// vertex has no more dependencies.
func Acyclic(n int, need func(id ID, i int) (ID, bool)) bool {
	for range Closing(n, need) {
		return false
	}
	return true
}

// Closing returns the dependencies that close a cycle, as vertices and the numbers of their
// dependencies. Without them, the graph has no cycle. Which ones they are depends only on the order
// of the vertices and dependencies. Its parameters are those of Acyclic.
func Closing(n int, need func(id ID, i int) (ID, bool)) iter.Seq2[ID, int] {
	const (
		onPath = iota + 1
		done
	)
	type step struct {
		id   ID
		next int // number of the next dependency
	}
	return func(yield func(ID, int) bool) {
		state := make([]uint8, n)
		var path []step
		for id := range n {
			if state[id] == 0 {
				state[id] = onPath
				path = append(path, step{id: ID(id)})
			}
			for len(path) > 0 {
				at := &path[len(path)-1]
				to, more := need(at.id, at.next)
				at.next++
				switch {
				case !more:
					state[at.id] = done
					path = path[:len(path)-1]
				case state[to] == onPath:
					if !yield(at.id, at.next-1) {
						return
					}
				case state[to] == 0:
					state[to] = onPath
					path = append(path, step{id: to})
				}
			}
		}
	}
}
