package dag

// Acyclic reports whether the graph has no cycle. It needs less memory than Order.
func (g *Graph) Acyclic() bool {
	return Acyclic(g.Len(), func(id ID, i int) (ID, bool) {
		if i == len(g.needs[id]) {
			return 0, false
		}
		return g.needs[id][i], true
	})
}

// Acyclic reports whether a graph with n vertices has no cycle. It is for graphs that are not
// stored as a Graph. need returns dependency number i of a vertex, counted from 0, or false if the
// vertex has no more dependencies.
func Acyclic(n int, need func(id ID, i int) (ID, bool)) bool {
	const (
		onPath = iota + 1
		done
	)
	type step struct {
		id   ID
		next int // number of the next dependency
	}
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
				return false
			case state[to] == 0:
				state[to] = onPath
				path = append(path, step{id: to})
			}
		}
	}
	return true
}
