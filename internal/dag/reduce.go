package dag

import "slices"

// TransitiveReduction returns the graph without the edges that longer paths imply. It is for
// drawing. The graph must not have a cycle.
//
// The edge from a vertex to a dependency is implied if another dependency of the vertex reaches
// that dependency. A dependency of many vertices, such as a provider, is usually found among the
// dependencies of the dependencies. Otherwise paths are followed to the earliest dependency that is
// still undecided. So usually only nearby vertices are visited, except in graphs with edges that
// skip most of the graph.
func (g *Graph) TransitiveReduction() *Graph {
	out := &Graph{needs: make([][]ID, g.Len())}
	order, _ := g.Order()
	rank := make([]int32, g.Len())
	for i, id := range order {
		rank[id] = int32(i)
	}
	r := reduction{g: g, out: out, rank: rank, implied: make([]int32, g.Len()), explored: make([]int32, g.Len())}
	for _, from := range order {
		r.reduce(from)
	}
	return out
}

type reduction struct {
	g, out *Graph
	rank   []int32 // position in topological order, by ID; dependencies have lower ranks
	// implied and explored hold, for each vertex, the ID (plus one) of the last vertex for which it
	// was marked as implied or explored.
	implied, explored []int32
	todo              []ID
}

func (r *reduction) reduce(from ID) {
	needs := slices.Clone(r.g.needs[from])
	// Sort by descending rank: only a vertex with a higher rank can reach one with a lower rank.
	slices.SortFunc(needs, func(a, b ID) int { return int(r.rank[b] - r.rank[a]) })
	mark := int32(from) + 1
	last := len(needs)
	for i, to := range needs {
		if r.implied[to] == mark {
			continue
		}
		r.implied[to] = mark // so that a repeated edge to this vertex is left out
		r.out.Connect(from, to)
		for _, next := range r.g.needs[to] {
			r.implied[next] = mark
		}
		for last > i+1 && r.implied[needs[last-1]] == mark {
			last--
		}
		if last == i+1 {
			return
		}
		r.follow(to, mark, r.rank[needs[last-1]])
	}
}

// follow marks the vertices that can be reached from a vertex as implied. It doesn't go beyond
// vertices with rank low or lower.
func (r *reduction) follow(from ID, mark, low int32) {
	r.todo = append(r.todo[:0], from)
	for len(r.todo) > 0 {
		id := r.todo[len(r.todo)-1]
		r.todo = r.todo[:len(r.todo)-1]
		for _, next := range r.out.needs[id] {
			r.implied[next] = mark
			if r.rank[next] > low && r.explored[next] != mark {
				r.explored[next] = mark
				r.todo = append(r.todo, next)
			}
		}
	}
}
