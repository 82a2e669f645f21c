package graphview

import (
	"cmp"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/plans"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// Focus returns the part of the graph around an address: what it needs and what needs it, over at
// most depth steps between resources. Values and calls between two resources do not count as steps.
// The address names a node, with or without instance keys, or a module with everything in it. If
// there is no such node, Focus returns an error.
func (g *Graph) Focus(address string, depth int) (*Graph, error) {
	from := g.find(address)
	if len(from) == 0 {
		return nil, tfdiags.Errorf("Address not in the graph", "The graph has no node for %s.%s", address,
			suggest.DidYouMean(address, g.names()))
	}
	keep := make([]bool, len(g.Nodes))
	for _, adjacent := range [][][]int{
		g.neighbors(g.Needs(), func(e Edge) int { return e.To }),
		g.neighbors(g.Users(), func(e Edge) int { return e.From }),
	} {
		for i, steps := range g.distances(from, adjacent) {
			keep[i] = keep[i] || steps >= 0 && steps <= depth
		}
	}
	return g.subgraph(keep), nil
}

// names returns the addresses of the nodes and of the modules.
func (g *Graph) names() []string {
	var out []string
	for i, n := range g.Nodes {
		if i == 0 || n.Module != g.Nodes[i-1].Module {
			out = append(out, n.Module.String())
		}
		out = append(out, cmp.Or(n.Resource, n.Address))
	}
	return out
}

// find returns the nodes that an address names.
func (g *Graph) find(address string) []int {
	match := func(n Node) bool { return n.Address == address || n.Resource == address }
	target, err := addrs.ParseTargetText(address)
	switch {
	case err != nil: // the names of other kinds of nodes are not addresses
	case target.IsModule():
		match = func(n Node) bool { return !n.Module.IsRoot() && target.Module.Module().Contains(n.Module) }
	default:
		config := target.Resource.In(target.Module.Module()).String()
		match = func(n Node) bool {
			all := cmp.Or(n.Resource, n.Address) == config
			return n.Address == address || all && (n.Resource == "" || n.has(target))
		}
	}
	var out []int
	for i, n := range g.Nodes {
		if match(n) {
			out = append(out, i)
		}
	}
	return out
}

// has reports whether a target covers one of the node's instances for which something is planned.
func (n *Node) has(target addrs.Target) bool {
	changes := func(c *plans.InstanceChange) bool { return target.ContainsInstance(c.Addr) }
	defers := func(d *plans.Deferred) bool { return target.ContainsInstance(d.Addr) }
	return slices.ContainsFunc(n.Changes, changes) || slices.ContainsFunc(n.Deferred, defers)
}

// neighbors converts lists of edges to lists of the nodes at one end of these edges.
func (g *Graph) neighbors(edges [][]int, end func(Edge) int) [][]int {
	out := make([][]int, len(edges))
	for i, list := range edges {
		for _, e := range list {
			out[i] = append(out[i], end(g.Edges[e]))
		}
	}
	return out
}

// distances returns, by node, the minimum number of resources on a path from the given nodes, not
// counting the given nodes themselves. It is -1 for nodes that can't be reached.
func (g *Graph) distances(from []int, adjacent [][]int) []int {
	out := make([]int, len(g.Nodes))
	for i := range out {
		out[i] = -1
	}
	now, next := slices.Clone(from), []int(nil)
	for steps := 0; len(now) > 0; steps++ {
		for len(now) > 0 {
			id := now[len(now)-1]
			now = now[:len(now)-1]
			if out[id] >= 0 {
				continue
			}
			out[id] = steps
			for _, to := range adjacent[id] {
				if g.Nodes[to].Kind.HasObjects() {
					next = append(next, to)
				} else {
					now = append(now, to)
				}
			}
		}
		now, next = next, nil
	}
	return out
}

// Modules returns the graph of the modules. It has a node for each module, with the changes of
// everything in it. An edge means that something in one module refers to something in the other.
func (g *Graph) Modules() *Graph {
	var nodes []Node
	at := map[addrs.Module]int{}
	add := func(m addrs.Module) int {
		id, ok := at[m]
		if !ok {
			id = len(nodes)
			at[m] = id
			nodes = append(nodes, Node{Kind: Whole, Module: m, Address: moduleName(m)})
		}
		return id
	}
	module := make([]int, len(g.Nodes))
	for i, n := range g.Nodes {
		id := add(n.Module)
		module[i] = id
		nodes[id].Changes = append(nodes[id].Changes, n.Changes...)
		nodes[id].Deferred = append(nodes[id].Deferred, n.Deferred...)
	}
	var edges []Edge
	for _, e := range g.Edges {
		edges = append(edges, Edge{From: module[e.From], To: module[e.To], At: e.At})
	}
	return sorted(nodes, edges)
}

func moduleName(m addrs.Module) string {
	if m.IsRoot() {
		return "(root module)"
	}
	return m.String()
}

// Changing returns the graph without nodes that don't change, or the whole graph if none changes.
func (g *Graph) Changing() *Graph {
	keep := make([]bool, len(g.Nodes))
	for i := range g.Nodes {
		keep[i] = g.Nodes[i].class() != ""
	}
	if !slices.Contains(keep, true) {
		return g
	}
	return g.subgraph(keep)
}

// few is a limit for the values that Resources leaves out. It keeps a value if both the number of
// incoming edges and the number of outgoing edges exceed the limit.
const few = 8

// Resources returns the graph without values and calls. If a node refers to a resource through
// them, it refers to the resource directly in the result. A value with many edges on both sides is
// kept, because leaving it out would replace them with the product of their numbers of edges.
// Values that lead to no resource are left out. If values and calls refer to each other in a cycle,
// Resources returns the whole graph.
func (g *Graph) Resources() *Graph {
	var d dag.Graph // graph of the edges to nodes that may be left out
	keep := make([]bool, len(g.Nodes))
	for i, n := range g.Nodes {
		d.Add()
		keep[i] = n.Kind.HasObjects()
	}
	for _, e := range g.Edges {
		if !keep[e.To] {
			d.Connect(dag.ID(e.From), dag.ID(e.To))
		}
	}
	topological, ok := d.Order()
	if !ok { // a block refers to its own values, so nothing can be left out
		return g
	}
	needs, users := g.Needs(), g.Users()
	out := make([][]Edge, len(g.Nodes)) // edges from each node to the nodes that stay
	for _, id := range topological {
		i := int(id)
		seen := map[int]bool{}
		add := func(e Edge) {
			if !seen[e.To] {
				seen[e.To] = true
				out[i] = append(out[i], e)
			}
		}
		for _, e := range needs[i] {
			edge := g.Edges[e]
			if keep[edge.To] {
				add(edge)
				continue
			}
			for _, further := range out[edge.To] {
				add(Edge{From: i, To: further.To, At: edge.At})
			}
		}
		n := g.Nodes[i]
		keep[i] = keep[i] || n.Kind == Provider && len(out[i]) > 0 ||
			min(len(out[i]), len(users[i])) > few
	}
	edges := slices.Concat(out...)
	slices.SortStableFunc(edges, compareEnds)
	return (&Graph{Nodes: g.Nodes, Edges: edges}).subgraph(keep)
}

// label returns the text of a node in a drawing: its address within the module.
func (n *Node) label() string {
	if n.Module.IsRoot() || n.Kind == Whole {
		return n.Address
	}
	return strings.TrimPrefix(n.Address, n.Module.String()+".")
}
