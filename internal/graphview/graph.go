package graphview

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/plans"
)

// Kind is the kind of a node. JSON documents contain it as a string.
type Kind string

const (
	Resource  Kind = "resource"
	Data      Kind = "data"
	Ephemeral Kind = "ephemeral"
	Variable  Kind = "variable"
	Local     Kind = "local"
	Output    Kind = "output"
	Check     Kind = "check"
	Provider  Kind = "provider" // a provider configuration that refers to something
	Call      Kind = "call"     // the arguments of a module call that decide its instances
	Whole     Kind = "module"   // everything in a module
	All       Kind = "all"      // all instances of a resource that has several nodes
	Root      Kind = "root"     // a root module with its state
)

// modes maps the mode of a resource to the kind of its node.
var modes = map[addrs.ResourceMode]Kind{addrs.Managed: Resource, addrs.Data: Data, addrs.Ephemeral: Ephemeral}

// HasObjects reports whether nodes of this kind are resources.
func (k Kind) HasObjects() bool { return k == Resource || k == Data || k == Ephemeral }

// Graph is a graph in a form that people can read. The caller must not change it.
type Graph struct {
	Nodes []Node // sorted by address
	Edges []Edge // sorted by From, then by To
}

// Node is a vertex of a Graph.
type Node struct {
	Kind    Kind
	Address string // unique; has instance keys only if the node represents some instances of a block
	Module  addrs.Module
	Type    string // the resource type; "" if the node is not a resource
	// Resource is the address of the resource or value if the node represents only some of its
	// instances. It is "" if the node represents the whole block. Reads holds, by instance, the
	// instances of resources that it refers to by their keys.
	Resource string
	Reads    map[addrs.AbsInstance][]addrs.AbsInstance
	At       *hcl.Range // the block; nil if the configuration has none
	// Conditions says whether the block of a resource, a value or a check has conditions.
	Conditions bool
	// Changes and Deferred hold the planned changes of the resource's objects, or of all objects in
	// the module.
	Changes  []*plans.InstanceChange
	Deferred []*plans.Deferred // changes that can't be planned yet
}

// Edge says that the node with the index From refers to the node with the index To.
type Edge struct {
	From, To int
	At       *hcl.Range // first reference; nil if only the state records the dependency
	Rule     bool       // only conditions of From refer to To
	Single   bool       // all references are between single instances, which Node.Reads holds
}

// ActionCount is the number of changes that have the same action.
type ActionCount struct {
	Action plans.Action
	Count  int
}

// order lists actions with the most dangerous ones first.
var order = []plans.Action{plans.Delete, plans.DeleteThenCreate, plans.CreateThenDelete, plans.ForgetThenCreate,
	plans.Forget, plans.Update, plans.Create, plans.Read, plans.NoOp}

// Actions counts the node's changes by action. The most dangerous actions come first.
func (n *Node) Actions() []ActionCount {
	counts := map[plans.Action]int{}
	for _, c := range n.Changes {
		counts[c.Action]++
	}
	var out []ActionCount
	for _, a := range order {
		if counts[a] > 0 {
			out = append(out, ActionCount{a, counts[a]})
		}
	}
	return out
}

// Worst returns the most dangerous action of the node's changes, or NoOp if there is no change.
func (n *Node) Worst() plans.Action {
	if counts := n.Actions(); len(counts) > 0 {
		return counts[0].Action
	}
	return plans.NoOp
}

// Needs returns, by node, the indexes of the edges from the node.
func (g *Graph) Needs() [][]int { return g.index(func(e Edge) int { return e.From }) }

// Users returns, by node, the indexes of the edges to the node.
func (g *Graph) Users() [][]int { return g.index(func(e Edge) int { return e.To }) }

func (g *Graph) index(end func(Edge) int) [][]int {
	out := make([][]int, len(g.Nodes))
	for i, e := range g.Edges {
		out[end(e)] = append(out[end(e)], i)
	}
	return out
}

// New returns the graph with the given nodes and edges. The ends of the edges are indexes into
// nodes.
func New(nodes []Node, edges []Edge) *Graph { return sorted(nodes, edges) }

// sorted returns the graph with sorted nodes and edges. It drops repeated edges and edges from a
// node to itself.
func sorted(nodes []Node, edges []Edge) *Graph {
	by := make([]int, len(nodes))
	for i := range by {
		by[i] = i
	}
	slices.SortFunc(by, func(x, y int) int { return strings.Compare(nodes[x].Address, nodes[y].Address) })
	g := &Graph{Nodes: make([]Node, len(nodes))}
	at := make([]int, len(nodes))
	for i, old := range by {
		g.Nodes[i], at[old] = nodes[old], i
	}
	all := make([]Edge, 0, len(edges))
	for _, e := range edges {
		if e.From != e.To {
			e.From, e.To = at[e.From], at[e.To]
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, compareEnds)
	for _, e := range all {
		if n := len(g.Edges); n > 0 && compareEnds(g.Edges[n-1], e) == 0 {
			same := &g.Edges[n-1]
			same.Single, same.Rule = same.Single && e.Single, same.Rule && e.Rule
		} else {
			g.Edges = append(g.Edges, e)
		}
	}
	return g
}

func compareEnds(x, y Edge) int {
	if x.From != y.From {
		return x.From - y.From
	}
	return x.To - y.To
}

// subgraph returns the graph of the nodes for which keep is true.
func (g *Graph) subgraph(keep []bool) *Graph {
	out := &Graph{}
	at := make([]int, len(g.Nodes))
	for i, n := range g.Nodes {
		if keep[i] {
			at[i] = len(out.Nodes)
			out.Nodes = append(out.Nodes, n)
		}
	}
	for _, e := range g.Edges {
		if keep[e.From] && keep[e.To] {
			e.From, e.To = at[e.From], at[e.To]
			out.Edges = append(out.Edges, e)
		}
	}
	return out
}
