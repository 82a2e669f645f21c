package graph

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/dag"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Graph is the tree of modules with their values, resources and provider configurations, and the
// graph of the work on them. It is complete when Build returns and does not change after that.
type Graph struct {
	Edges dag.Graph
	Nodes []*Node // by ID

	Root      *Module
	Modules   map[addrs.Module]*Module
	Resources []*Resource // in the order of their nodes
	Values    []*Value
	Providers map[addrs.AbsProviderConfig]*Provider

	Functions map[FunctionUse]ProviderUse // the provider configurations whose functions are called

	// RefErrors holds the errors of references, by the expression or body that contains them. It is
	// filled while validating only: then one invalid expression does not keep the rest of its node
	// from being evaluated. In all other phases the errors are Problems of the node.
	RefErrors map[EvalUnit]tfdiags.Diagnostics

	LeftOut []LeftOut // by targets or exclusions

	// Few resources have these, so they are not fields of Resource.
	Imports  map[*Resource][]*Import // blocks with for_each come last
	Removals map[*Resource]*Removal
	Unused   map[*Resource]bool // ephemeral resources whose values no node uses

	splitCalls map[*Node]*splitCall // of the nodes that have Parts
}

// Removal is what a removed block says about a resource that it covers.
type Removal struct {
	Config       *configs.Removed
	Provisioners []*Provisioner // to run before the objects are deleted; empty unless there are Steps
}

// FunctionUse is a provider function called in a module.
type FunctionUse struct {
	Module *Module
	Name   addrs.ProviderFunction
}

// Module is a module of the configuration, or one that only the state has.
type Module struct {
	Index      int // position among the graph's modules
	Path       addrs.Module
	Config     *configs.Config // nil if only the state has the module
	Parent     *Module
	Call       *configs.ModuleCall
	Repetition Repetition

	DependsOn *lang.Refs // of the call; may be nil

	// EachOf is the resource of for_each, if the instances of the call are decided before that
	// resource is complete; see setModuleEachOf.
	EachOf *Resource

	CallSlot int // position among the calls of the parent

	expand *Node // nil for the root and for modules that only the state has
	end    *Node // waits for everything in the module

	Variables, Locals, Outputs map[string]*Value
	Calls                      map[string]*Module
	Resources                  map[addrs.Resource]*Resource
	Checks                     []*Check
	ValueSlots, ResourceSlots  int
}

// valueKind distinguishes named values.
type valueKind uint8

const (
	Variable valueKind = iota
	Local
	Output
)

// Value is a variable, local or output of a module.
type Value struct {
	Kind   valueKind
	Name   string
	Module *Module
	Node   *Node
	Slot   int

	Variable    *configs.Variable
	Output      *configs.Output
	Expr        *lang.Expr  // for variables, the argument of the call (evaluated in the caller); may be nil
	DependsOn   *lang.Refs  // of outputs; may be nil
	CallReads   []CallRead  // what Expr reads of single instances of module calls
	PerInstance bool        // Expr refers to count or each, so that it differs between the instances of the call
	Conditions  []Condition // validations or preconditions

	// Reads holds the instances that an argument reads before their resources are complete; see
	// KindValueIn. NoKey says that it reads none of a resource.
	Reads map[addrs.ModuleInstance][]plans.InstanceRead
}

// Check is a check block.
type Check struct {
	Config  *configs.Check
	Module  *Module
	Node    *Node
	Asserts []Condition
}

// Condition is an analyzed condition: a validation, precondition, postcondition or assertion.
type Condition struct {
	lang.Rule
	Config *configs.CheckRule
}

// Resource is a resource block, or a resource that only the state has.
type Resource struct {
	Index  int // position among the graph's resources
	Addr   addrs.ConfigResource
	Module *Module
	Config *configs.Resource // nil if only the state has the resource
	Exprs  *ResourceExprs    // of Config
	Schema *providers.ResourceSchema
	Slot   int // position among the resources of its module

	resourceNodes
	ProviderUse
	instanceReads

	Prior    []*states.Resource // objects in the state, by module instance
	Recorded Recorded
	// CreateBeforeDestroy is set by the block, or forced by a dependent.
	CreateBeforeDestroy bool

	Selected *Selection // instances that take part; nil for all
}

// instanceReads are the references of a block that may be to single instances.
type instanceReads struct {
	Indexed   []IndexedRead // resources of the module that the block reads by a computed index; also itself
	CallReads []CallRead    // what the block reads of single instances of module calls
	CallNeeds []CallNeed    // what the block depends on through CallReads only
	// Constant are the resources of the module whose instances the block reads only by constant keys.
	Constant []IndexedRead
	EachOf   *Resource // one of them, whose keys are those of the block; see setEachOf
	// Awaited are the resources with single instances that instances of this one await in a plan;
	// see separateInstances.
	Awaited []IndexedRead
	// DeferredRefErrors holds the errors of references in the content of dynamic blocks. They are
	// reported only if the dynamic block generates any blocks.
	DeferredRefErrors map[*addrs.Reference]tfdiags.Diagnostics
}

// resourceNodes are the nodes of a resource, other than its Steps.
type resourceNodes struct {
	Node   *Node // completes the resource; its value is final afterwards
	Inputs *Node // waits for all references of the block; Node unless there are Steps
	expand *Node // decides the instances; see separateExpansion
	// Barriers order instances before references with a constant key.
	Barriers  map[addrs.InstanceKey]*InstanceBarrier
	readEarly bool  // an argument of a module call reads single instances
	indexed   *Node // for blocks that read the resource by a computed index; see indexedNode
}

// ReadByIndex reports whether Steps read instances of the resource before it is complete.
func (r *Resource) ReadByIndex() bool {
	return r.indexed != nil || r.readEarly || r.OwnInstances() != nil
}

// IndexedRead is a resource that a block reads only by instance, some of them by indexes that are
// computed.
type IndexedRead struct {
	Of   *Resource
	Refs lang.Instances
}

// OwnInstances returns the references of a block to instances of its own resource.
func (r *Resource) OwnInstances() lang.Instances {
	for _, read := range r.Indexed {
		if read.Of == r {
			return read.Refs
		}
	}
	return nil
}

// Recorded holds what the state records with each object of a resource.
type Recorded struct {
	Dependencies *states.Dependencies // the nearest dependencies
	// Whole has the resources of the module that the block reads by instance, but on all of whose
	// instances it depends for another reason, such as a reference to a value that reads them all.
	Whole map[addrs.Resource]bool
	// CreateBeforeDestroy differs from that of Resource if a dependent is not part of the
	// operation.
	CreateBeforeDestroy bool
}

// ResourceExprs holds the analyzed expressions of a resource block. All instances of the module in
// the tree share it.
type ResourceExprs struct {
	Body                          *lang.Body
	Repetition                    Repetition
	Preconditions, Postconditions []Condition
	Triggers                      []*lang.Expr
	PreventDestroy                *lang.Expr
	DependsOn                     *lang.Refs // may be nil
	Provisioners                  []*Provisioner
	readsCalls                    bool // an expression reads single instances of a module call
	problems                      tfdiags.Diagnostics
	SelfReferences                tfdiags.Diagnostics // references of the repetition to the resource itself
}

// Provisioner is a provisioner block with its analyzed expressions.
type Provisioner struct {
	Config     *configs.Provisioner
	Body       *lang.Body
	Connection *lang.Body // may be nil
}

// ProviderUse is the provider configuration that a resource or a provider function uses.
type ProviderUse struct {
	Provider    *Provider
	ProviderKey *ProviderKey // nil for NoKey
}

// ProviderKey is an expression for the instance key of a provider configuration with for_each.
type ProviderKey struct {
	Expr   *lang.Expr
	Module *Module
	Call   string // the module call whose providers argument has the key; "" if the resource's provider argument has it
}

// DeletionProvisioners returns a list that contains the destroy provisioners of a resource, and the
// module in which they are evaluated.
func (g *Graph) DeletionProvisioners(r *Resource) (*Module, []*Provisioner) {
	m := r.Module
	if m.Config == nil {
		m = g.Root
	}
	if removal := g.Removals[r]; removal != nil {
		return m, removal.Provisioners
	}
	if r.Exprs != nil {
		return m, r.Exprs.Provisioners
	}
	return m, nil
}

// emptyBodyAt returns an empty body whose errors are reported at rng.
func emptyBodyAt(rng hcl.Range) hcl.Body { return &hclsyntax.Body{SrcRange: rng, EndRange: rng} }

// ResourceOf returns the resource that a reference names, nil for references to anything else.
func (m *Module) ResourceOf(subject addrs.Referenceable) *Resource {
	switch s := subject.(type) {
	case addrs.Resource:
		return m.Resources[s]
	case addrs.ResourceInstance:
		return m.Resources[s.Resource]
	}
	return nil
}

// NodeOf returns the node of the value or module call that a reference names, nil for references to
// anything else.
func (m *Module) NodeOf(subject addrs.Referenceable) *Node {
	switch s := subject.(type) {
	case addrs.InputVariable:
		if v := m.Variables[s.Name]; v != nil {
			return v.Node
		}
	case addrs.LocalValue:
		if v := m.Locals[s.Name]; v != nil {
			return v.Node
		}
	case addrs.ModuleCallOutput:
		if child := m.Calls[s.Call.Name]; child != nil && child.Outputs[s.Output] != nil {
			return child.Outputs[s.Output].Node
		}
	}
	if call, ok := moduleCallOf(subject); ok && m.Calls[call] != nil {
		return m.Calls[call].end
	}
	return nil
}

// Resource returns the resource with an address, or nil if there is none.
func (g *Graph) Resource(addr addrs.ConfigResource) *Resource {
	m := g.Modules[addr.Module]
	if m == nil {
		return nil
	}
	return m.Resources[addr.Resource]
}

// CallsFunctions reports whether functions of a provider configuration are called. Functions are
// never mocked.
func (g *Graph) CallsFunctions(p *Provider) bool {
	for _, used := range g.Functions {
		if used.Provider == p {
			return true
		}
	}
	return false
}
