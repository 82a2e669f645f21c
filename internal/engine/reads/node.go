package reads

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
	KindInspection                 // evaluates references outside of the configuration
	KindAction                     // validates or invokes an action that no object triggers
	KindModule                     // module call: decides the module's instances
	KindPlace                      // does no work; waits until a place is final

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

// IsBarrier reports whether the node is a Barrier. Some Barriers also close something that the
// nodes before them used, such as a provider.
func (k Kind) IsBarrier() bool { return k >= KindBarrier }

// Node is a vertex of the graph.
type Node struct {
	ID    dag.ID
	Kind  Kind
	Name  string     // unique and readable: for cycles, drawings and logs
	Range *hcl.Range // declaration; nil if the configuration has none

	Module   *Module   // module of the node; may be nil
	Resource *Resource // set for Steps, and for nodes and Barriers of resources
	Object   Object    // subject of the work, other than a resource; may be nil

	// In is the module instance in which the node does the work of another one, in a plan whose blocks are
	// split between instances of a call. It is the root for all other nodes.
	In addrs.ModuleInstance

	// Problems holds the errors and warnings from analyzing the node's expressions. A node with
	// errors is not executed.
	Problems tfdiags.Diagnostics

	Dropped bool // the node does nothing when it is visited
	Kept    bool // for values, checks and inspections: evaluated even if no other node reads them
}

// ClosesModule reports whether a node is a Barrier that waits for everything in a module.
func (n *Node) ClosesModule() bool { return n.Module != nil && n == n.Module.End }

// Object is the subject of a node: a *Value, *Check, *Step or *Provider; the *Module of a call; the *Resource
// of an action; an InstanceObject; or, for a KindEphemeralEnd, the *Node that has opened the objects.
type Object interface{ isObject() }

// InstanceObject is an instance of a resource that a KindPlace stands for.
type InstanceObject struct{ addrs.AbsInstance }

func (*Value) isObject()         {}
func (*Check) isObject()         {}
func (*Module) isObject()        {}
func (*Step) isObject()          {}
func (*Provider) isObject()      {}
func (*Resource) isObject()      {}
func (*Node) isObject()          {}
func (InstanceObject) isObject() {}

// Value returns the value of the node, or nil if it has none.
func (n *Node) Value() *Value { return object[*Value](n) }

// Step returns the Step of the node, or nil if it has none.
func (n *Node) Step() *Step { return object[*Step](n) }

// Call returns the module whose instances the node decides, or nil.
func (n *Node) Call() *Module { return object[*Module](n) }

// Check returns the check block of the node, or nil.
func (n *Node) Check() *Check { return object[*Check](n) }

func object[T Object](n *Node) (out T) {
	out, _ = n.Object.(T)
	return out
}
