package engine

import (
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/dag"
	"tofu/internal/tfdiags"
)

// Kind is what a node stands for. There are no others, in any phase.
type Kind uint8

const (
	KindValue    Kind = iota + 1 // variable, local, output, check: evaluated once per module instance
	KindModule                   // module call: decides the module's instances
	KindResource                 // resource block (or what is left of one in the state): decides and visits its instances
	KindStep                     // one change to one object
	KindProvider                 // provider configuration: starts and configures its instances
	KindBarrier                  // ordering point: nothing, or closes something
)

// Node is a vertex of the graph.
type Node struct {
	ID    dag.ID
	Kind  Kind
	Name  string     // unique and readable: for cycles, graphs and logs
	Range *hcl.Range // where it is declared; nil for what is not in the configuration

	// Run does the node's work during a walk; nil for nothing. What it returns is the operation's result as well.
	Run func(*walk) tfdiags.Diagnostics

	// problems were found while the node's expressions were analysed. A node with errors among them does not run.
	problems tfdiags.Diagnostics

	resource *resource    // of Resource and Step nodes
	module   *module      // that the node belongs to; nil for nodes of no module
	settles  bool         // what waits for it has the resource's objects, or some of them
	single   *oneInstance // of Barriers that settle one instance
	deletes  bool         // of Steps: it takes an object away
	final    bool         // of Values: it is evaluated for its own sake or read from outside the graph, so it is never pruned
	isCheck  bool         // a check block: nobody waits for it
}

// node adds a vertex.
func (b *build) node(kind Kind, m *module, name string, rng *hcl.Range) *Node {
	n := &Node{ID: b.graph.Add(), Kind: kind, Name: name, Range: rng, module: m}
	b.nodes = append(b.nodes, n)
	return n
}

// after makes n wait for each of the others; nil ones are left out.
func (b *build) after(n *Node, others ...*Node) {
	for _, o := range others {
		if o != nil && o != n {
			b.graph.Connect(n.ID, o.ID)
			b.places.note(n.ID, o.ID)
		}
	}
}
