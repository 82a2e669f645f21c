package dag

import "slices"

// TransitiveReduction gives the graph without the edges that longer paths imply. It is for drawing only; the graph must have no cycle.
//
// An edge to a vertex is implied when another need reaches that vertex. What every vertex needs, such as a provider, is found
// among the needs' own needs. For the others, paths are followed back, but no further than the farthest need that is still in doubt:
// so neighbours are looked at and not everything that came before, except where a graph has edges that skip most of it.
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
	rank   []int32 // needs have lower ranks
	// implied and explored hold, by vertex, the vertex (plus one) for which it was last found to be implied, or followed.
	implied, explored []int32
	todo              []ID
}

func (r *reduction) reduce(from ID) {
	needs := slices.Clone(r.g.needs[from])
	slices.SortFunc(needs, func(a, b ID) int { return int(r.rank[b] - r.rank[a]) }) // what comes later can be implied by what came before
	mark := int32(from) + 1
	last := len(needs)
	for i, to := range needs {
		if r.implied[to] == mark {
			continue
		}
		r.implied[to] = mark // a repeated edge
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

// follow marks what a vertex reaches, as far back as a rank.
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
