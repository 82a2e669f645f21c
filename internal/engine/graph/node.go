package graph

import (
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/tfdiags"
)

// Kind is the kind of a node. It decides what a walk does when it visits the node.
type Kind uint8

const (
	KindValue      Kind = iota + 1 // variable, local or output: evaluated once per module instance
	KindCheck                      // check block
	KindInspection                 // evaluates the references of Operation.Inspected
	KindAction                     // validates or invokes an action that no object triggers
	KindModule                     // module call: decides the module's instances
	KindPlace                      // does no work; waits until a place is final; see stepOrder and planOrder

	KindExpand        // decides a resource's instances before they are planned
	KindResource      // completes a resource: its value is final afterwards
	KindStep          // one change to one object
	KindProvider      // starts and configures the instances of a provider configuration
	KindBarrier       // does no work; only orders other nodes
	KindProviderClose // Barrier that closes a provider configuration after its last user
	KindEphemeralEnd  // Barrier that closes the objects of an ephemeral resource after their last user
)

// IsValue reports whether the node evaluates expressions and does nothing else.
func (k Kind) IsValue() bool { return k <= KindAction }

// IsResource reports whether the node decides the instances of a resource or completes the
// resource.
func (k Kind) IsResource() bool { return k == KindExpand || k == KindResource }

// isBarrier reports whether the node is a Barrier. Some Barriers also close something that the
// nodes before them used, such as a provider.
func (k Kind) isBarrier() bool { return k >= KindBarrier }

// Node is a vertex of the graph.
type Node struct {
	ID    dag.ID
	Kind  Kind
	Name  string     // unique and readable: for cycles, drawings and logs
	Range *hcl.Range // declaration; nil if the configuration has none

	Module   *Module   // module of the node; may be nil
	Resource *Resource // set for Steps, and for nodes and Barriers of resources
	// Object is a *Value, *Check, *Module, *Step or *Provider, depending on Kind. For a KindAction, it is the
	// *Resource of the action, for a KindEphemeralEnd the *Node that has opened the objects, and for a place that is an instance, its address.
	Object any

	In addrs.ModuleInstance // where the node does the work of another one; see planOrder. The root for all others

	// Problems holds the errors and warnings from analyzing the node's expressions. A node with
	// errors is not executed.
	Problems tfdiags.Diagnostics

	Dropped bool // the node does nothing when it is visited
	kept    bool // for values, checks and inspections: evaluated even if no other node reads them
}

// completes reports whether the node makes the objects of a resource final.
func (n *Node) completes() bool { return n.Kind == KindResource }

// deletes reports whether the node is a Step that removes an object.
func (n *Node) deletes() bool {
	s, ok := n.Object.(*Step)
	return ok && s.Part != stepApply
}

// node adds a node to the graph and returns it.
func (b *build) node(kind Kind, m *Module, name string, rng *hcl.Range) *Node {
	n := &Node{ID: b.g.Edges.Add(), Kind: kind, Name: name, Range: rng, Module: m}
	b.g.Nodes = append(b.g.Nodes, n)
	return n
}

// after makes n wait for the nodes in others. It ignores nil nodes and n itself.
func (b *build) after(n *Node, others ...*Node) {
	for _, o := range others {
		if o != nil && o != n {
			b.g.Edges.Connect(n.ID, o.ID)
			b.refRanges.record(n.ID, o.ID)
		}
	}
}
