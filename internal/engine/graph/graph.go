package graph

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/dag"
	"tofu/internal/lang"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Graph is the tree of modules with their values, resources and provider configurations, and the
// graph of the work on them. It is complete when Build returns and does not change after that.
type Graph struct {
	Edges   dag.Graph
	Nodes   []*Node // by ID
	Relaxed bool    // whether rules for the order of destruction contradicted each other, so that some were dropped

	Root      *Module
	Modules   map[addrs.Module]*Module
	Resources []*Resource // in the order of their nodes
	Values    []*Value
	Providers map[addrs.AbsProviderConfig]*Provider

	Repeats bool // whether any block or module call has instances with keys; if not, there are no Uses

	Functions map[FunctionUse]ProviderUse // the called functions, with the provider configurations that they belong to

	// RefErrors holds the errors of references, by the expression or body that contains them. It is
	// filled only while validating, so that the rest of a node is evaluated even if one of its
	// expressions is invalid. In all other phases, the errors are in the node's Problems.
	RefErrors map[EvalUnit]tfdiags.Diagnostics

	LeftOut      []LeftOut     // what targets or exclusions leave out
	participants *participants // nil without targets or exclusions, and while destroying

	// Few resources have entries in these maps, so they are not fields of Resource.
	Imports  map[*Resource][]*Import // import blocks of each resource; blocks with for_each come last
	Removals map[*Resource]*Removal
	Unused   map[*Node]bool // nodes that would open ephemeral objects whose values no other node uses

	apart     map[*Node]*apartNodes                                              // by node that is split between the instances of a module call
	finals    map[place]*Node                                                    // see Final
	instances map[*Resource]map[addrs.ModuleInstance]map[addrs.InstanceKey]*Node // see Instances
}

// Removal holds the settings of a removed block for a resource that it covers.
type Removal struct {
	Config       *configs.Removed
	Provisioners []*Provisioner // provisioners to run before the objects are deleted; empty unless there are Steps
}

// FunctionUse is a provider function called in a module.
type FunctionUse struct {
	Module *Module
	Name   addrs.ProviderFunction
}

// Module is a module of the configuration, or one that exists only in the state.
type Module struct {
	Index      int // position among the graph's modules
	Path       addrs.Module
	Config     *configs.Config // nil if the module exists only in the state
	Parent     *Module
	Call       *configs.ModuleCall
	Repetition Repetition

	DependsOn *lang.Refs // depends_on of the module call, or nil

	// EachOf is the resource or alias in the call's for_each, if the instances of the call are decided
	// before the resource is complete; see setModuleEachOf.
	EachOf   *IndexedRead
	EachCall *EachCall // like EachOf, for a module call in the for_each; see chain_calls.go

	readsSiblings bool // whether an argument of the call reads outputs of other instances of the call

	CallSlot int   // position among the calls in the parent module
	Uses     *Uses // what the instances of the call depend on, except the calls around it

	expand *Node // decides the module's instances; nil for the root and for modules that exist only in the state
	end    *Node // waits for everything in the module

	Variables, Locals, Outputs map[string]*Value
	Calls                      map[string]*Module
	Resources                  map[addrs.Resource]*Resource
	Actions                    map[addrs.Resource]*Resource // the action blocks; see actions.go
	Checks                     []*Check
	aliases                    map[addrs.Resource]*Value // values that are whole resources, by name; see alias.go
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
	DependsOn   *lang.Refs  // depends_on of an output; may be nil
	CallReads   []CallRead  // single instances of module calls that Expr reads
	EachCall    *EachCall   // the call in for_each that Expr reads with each.value; see chain_calls.go
	PerInstance bool        // Expr refers to count or each, so its value differs between instances of the call
	Conditions  []Condition // validations or preconditions
	Alias       *Alias      // nil unless the value is a resource, or a map with its keys; see alias.go
	callAlias   *CallAlias  // nil unless the value is a local that is a module call; see call_alias.go
	Uses        *Uses       // what the value depends on

	elements []IndexedRead // the result of AliasReads; nil until its first call
}

// Check is a check block with its analyzed assertions.
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

// Resource is a resource block, or a resource that exists only in the state.
type Resource struct {
	Index  int // position among the graph's resources
	Addr   addrs.ConfigResource
	Module *Module
	Config *configs.Resource // nil if the resource exists only in the state
	Exprs  *ResourceExprs    // analyzed expressions of Config
	Schema *providers.ResourceSchema
	Slot   int // position among the resources of its module

	resourceNodes
	ProviderUse
	instanceReads

	Prior    []*states.Resource // objects in the state, by module instance
	Recorded Recorded
	Uses     *Uses // what the block depends on
	// CreateBeforeDestroy is set by the block, or forced by a resource that depends on this one.
	CreateBeforeDestroy bool

	Selected *Selection // instances that take part; nil for all
	Opened   bool       // for ephemeral resources: Steps open the objects
}

// instanceReads holds what the instances of a block read only by key; see setReadsByKey.
type instanceReads struct {
	ByKey     []IndexedRead // resources and aliases; the block's own resource comes first
	CallReads []CallRead    // module calls
	EachOf    *IndexedRead  // the resource or alias in for_each, if the instances wait for single instances of it
	EachCall  *EachCall     // the call that has the keys of the block, if its instances are read by key
	// DeferredRefErrors holds the errors of references in the content of dynamic blocks. They are
	// reported only if the dynamic block generates any blocks.
	DeferredRefErrors map[*addrs.Reference]tfdiags.Diagnostics
}

// resourceNodes holds the nodes of a resource, other than its Steps.
type resourceNodes struct {
	Node *Node // completes the resource; its value is final after this node
	// Inputs precedes the instances. It waits for everything that the block refers to, except
	// objects for which the instances wait one by one. It is the same as Node unless a plan separates
	// the instances; see separate.
	Inputs *Node
}

// IndexedRead is a resource whose instances a block or value reads only one by one, directly or
// through an alias, with the references that select them.
type IndexedRead struct {
	Of    *Resource
	Via   *Value // the alias by which the block reads the resource; nil if it reads the resource itself
	Refs  lang.Instances
	Whole bool // whether the instances of the block wait for the whole resource or alias in a plan
}

// OwnInstances returns the references of a block to instances of its own resource, or nil.
func (r *Resource) OwnInstances() lang.Instances {
	if len(r.ByKey) > 0 && r.ByKey[0].Of == r {
		return r.ByKey[0].Refs
	}
	return nil
}

// Recorded holds what the state records with each object of a resource.
type Recorded struct {
	Dependencies *states.Dependencies // the nearest dependencies
	// CreateBeforeDestroy differs from the field of Resource if a dependent resource is not part of
	// the operation.
	CreateBeforeDestroy bool
}

// ResourceExprs holds the analyzed expressions of a resource block. All calls of the module share
// it.
type ResourceExprs struct {
	Body                          *lang.Body
	Repetition                    Repetition
	Preconditions, Postconditions []Condition
	Triggers                      []*lang.Expr
	PreventDestroy                *lang.Expr
	DependsOn                     *lang.Refs // may be nil
	Provisioners                  []*Provisioner
	ActionTriggers                []ActionTrigger
	actionRefs                    []*lang.Refs // what carrying out the actions reads, other than the resource itself
	readsCalls                    bool         // whether an expression reads single instances of a module call
	problems                      tfdiags.Diagnostics
	SelfReferences                tfdiags.Diagnostics // errors for count or for_each that refer to the resource itself
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
	Call   string // the module call whose providers argument has the key; "" if the resource block has it
}

// DeletionProvisioners returns the provisioners to run before an object of the resource is deleted,
// and the module in which they are evaluated.
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

// emptyBodyAt returns an empty body. Errors about it are reported at rng.
func emptyBodyAt(rng hcl.Range) hcl.Body { return &hclsyntax.Body{SrcRange: rng, EndRange: rng} }

// Resource returns the resource at the given address, or nil.
func (g *Graph) Resource(addr addrs.ConfigResource) *Resource {
	m := g.Modules[addr.Module]
	if m == nil {
		return nil
	}
	return m.Resources[addr.Resource]
}

// CallsFunctions reports whether functions of a provider configuration are called. If so, the
// provider is needed even if it is mocked, because functions are never mocked.
func (g *Graph) CallsFunctions(p *Provider) bool {
	for _, used := range g.Functions {
		if used.Provider == p {
			return true
		}
	}
	return false
}

// Expand returns the node that decides the instances of a module call.
func (m *Module) Expand() *Node { return m.expand }
