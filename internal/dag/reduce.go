package dag

import "slices"

// TransitiveReduction gives the graph without the edges that longer ways imply. It costs vertices times edges at worst and is
// for drawing only; the graph must have no cycle.
func (g *Graph) TransitiveReduction() *Graph {
	out := &Graph{needs: make([][]ID, g.Len())}
	order, _ := g.Order()
	rank := make([]int32, g.Len())
	for i, id := range order {
		rank[id] = int32(i)
	}
	seen := make([]int32, g.Len()) // the vertex (plus one) for which it was reached last
	for _, from := range order {
		needs := append([]ID(nil), g.needs[from]...)
		sortByRank(needs, rank)
		mark := int32(from) + 1
		for _, to := range needs { // highest rank first: whatever it reaches is implied
			if seen[to] == mark {
				continue
			}
			out.Connect(from, to)
			todo := []ID{to}
			seen[to] = mark
			for len(todo) > 0 {
				id := todo[len(todo)-1]
				todo = todo[:len(todo)-1]
				for _, next := range out.needs[id] {
					if seen[next] != mark {
						seen[next] = mark
						todo = append(todo, next)
					}
				}
			}
		}
	}
	return out
}

func sortByRank(ids []ID, rank []int32) {
	slices.SortFunc(ids, func(a, b ID) int { return int(rank[b] - rank[a]) })
}
