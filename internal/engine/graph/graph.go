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

// tree is what is built for an operation: the places that the configuration and the state have in the module tree, and the graph of
// what is done about them. It is finished before the walk begins. What the walk finds out about a place lies there too, in fields that
// say so.
type Graph struct {
	Edges dag.Graph
	Nodes []*Node // by their ID

	Root      *Module
	Modules   map[addrs.Module]*Module
	Resources []*Resource // in the order of their nodes
	Values    []*Value
	ByAddr    map[addrs.ConfigResource]*Resource
	Providers map[addrs.AbsProviderConfig]*Provider

	// functions are the providers whose functions a module calls, functionKeys the instances of those with several.
	Functions    map[FunctionUse]*Provider
	FunctionKeys map[FunctionUse]*ProviderKey

	// refused are the references that name nothing, by what they stand in. While validating, an expression that has some doesn't keep
	// the rest of its node from being evaluated; in all other phases it does, and nothing is listed here.
	RefErrors map[EvalUnit]tfdiags.Diagnostics
}

// functionUse is a provider function in a module.
type FunctionUse struct {
	Module *Module
	Name   addrs.ProviderFunction
}

// module is a place in the module tree during one operation. What is below "walk" is written by the module's own node and read by
// nodes that wait for it.
type Module struct {
	Index      int // position among the graph's modules
	Path       addrs.Module
	Config     *configs.Config // nil: the module is in the state only
	Parent     *Module
	Call       *configs.ModuleCall
	Repetition Repetition

	DependsOn lang.Refs // of call

	CallSlot int // position among the calls of the parent

	stepsIn   addrs.ModuleInstance // the first instance in which there are Steps that make something
	hasSteps  bool
	stepsVary bool // there are such Steps in several instances

	expand *Node // nil for the root and for modules that are in the state only
	end    *Node // waits for everything in the module

	Variables, Locals, Outputs map[string]*Value
	Calls                      map[string]*Module
	Resources                  map[addrs.Resource]*Resource
	Checks                     []*Check
	ValueSlots, ResourceSlots  int
}

// valueKind tells the three kinds of named values apart.
type valueKind uint8

const (
	Variable valueKind = iota
	Local
	Output
)

// value is a variable, local or output of a module.
type Value struct {
	Kind   valueKind
	Name   string
	Module *Module
	Node   *Node
	Slot   int

	Variable    *configs.Variable
	Output      *configs.Output
	Expr        *lang.Expr  // a variable's is the call's argument, evaluated in the calling module; nil where none was written
	DependsOn   lang.Refs   // an output's
	PerInstance bool        // expr uses count or each, so that it differs between the instances of the call
	Conditions  []Condition // validations or preconditions
}

// check is a check block.
type Check struct {
	Config  *configs.Check
	Module  *Module
	Node    *Node
	Asserts []Condition
}

// rule is an analysed condition.
type Condition struct {
	Config  *configs.CheckRule
	Expr    *lang.Expr
	Message *lang.Expr
}

// resource is a resource block, or what the state has of one that is gone.
type Resource struct {
	Index  int // position among the graph's resources
	Addr   addrs.ConfigResource
	Module *Module
	Config *configs.Resource // nil: the state only
	Exprs  *ResourceExprs    // of cfg
	Schema *providers.ResourceSchema
	// unsure are references in the content of the body's dynamic blocks, with what is wrong with them: perhaps nobody evaluates them.
	DeferredRefErrors map[*addrs.Reference]tfdiags.Diagnostics

	Node   *Node // settles the resource: afterwards its value stands
	Inputs *Node // waits for all that the block refers to; the same as node where there are no Steps
	Slot   int

	expand      *Node                                  // decides the instances; the same as open unless it is separate
	writers     map[addrs.InstanceKey][]*Step          // Steps that make something, once somebody asked
	Barriers    map[addrs.InstanceKey]*InstanceBarrier // that references wait for by themselves
	moduleSteps map[addrs.ModuleInstance]*moduleSteps  // where it is separate: what is done in each instance of the module

	Provider    *Provider
	ProviderKey *ProviderKey // nil: NoKey
	functionsOf []*Provider  // providers whose functions the block calls

	Prior []*states.Resource // what the state has, by module instance

	Deps                      []addrs.ConfigResource // the nearest resources that it depends on, sorted
	CreateBeforeDestroy       bool                   // create before destroy, by itself or forced by a dependent
	RecordCreateBeforeDestroy bool                   // planning: its objects are noted as ones to be replaced by creating first

	Imports   []*Import
	Removed   *configs.Removed // the removed block that matches; nil for none
	atRemoval []*Provisioner   // of Removed
	Generated bool             // made up for an import target whose configuration is to be written
	Selected  *Selection       // which instances take part; nil: all
	// unwanted selects the objects that take part though the configuration doesn't want them: instances that are gone and deposed
	// objects. Nothing depends on them, so only targets that name them select them. Nil: all that selected has.
	SelectedOrphans *Selection

	Unused bool // an ephemeral resource whose values nobody is going to use
}

// resourceExprs are a resource block's analysed expressions, shared by all places of the tree that its module has.
type ResourceExprs struct {
	Body                          *lang.Body
	Repetition                    Repetition
	Preconditions, Postconditions []Condition
	Triggers                      []*lang.Expr
	PreventDestroy                *lang.Expr
	DependsOn                     lang.Refs
	Provisioners                  []*Provisioner
	problems                      tfdiags.Diagnostics
	SelfReferences                tfdiags.Diagnostics // what the repetition asks of the resource itself; an error once instances are needed
}

// provisionerExprs are a provisioner block's analysed expressions.
type Provisioner struct {
	Config     *configs.Provisioner
	Body       *lang.Body
	Connection *lang.Body // nil: none
}

// keyExpr is the instance key of a provider configuration with for_each, and the module that it is evaluated in.
type ProviderKey struct {
	Expr   *lang.Expr
	Module *Module
	Call   string // the call whose providers argument has the key; "": the resource's own provider argument
}

// DeletionProvisioners returns the module that the provisioners for a resource's deletion are evaluated in, and the list that they are
// part of.
func (g *Graph) DeletionProvisioners(r *Resource) (*Module, []*Provisioner) {
	m := r.Module
	if m.Config == nil {
		m = g.Root
	}
	switch {
	case r.Removed != nil:
		return m, r.atRemoval
	case r.Exprs != nil:
		return m, r.Exprs.Provisioners
	}
	return m, nil
}

// emptyBodyAt is a body without content that is reported at a place.
func emptyBodyAt(rng hcl.Range) hcl.Body { return &hclsyntax.Body{SrcRange: rng, EndRange: rng} }

// resourceOf gives the resource that a reference names, nil for anything else.
func (m *Module) ResourceOf(subject addrs.Referenceable) *Resource {
	switch s := subject.(type) {
	case addrs.Resource:
		return m.Resources[s]
	case addrs.ResourceInstance:
		return m.Resources[s.Resource]
	}
	return nil
}

// nodeOf gives the node of a value or module call that a reference names.
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

// callsFunctions tells whether functions of a provider are called: those are not mocked.
func (t *Graph) CallsFunctions(p *Provider) bool {
	for _, used := range t.Functions {
		if used == p {
			return true
		}
	}
	return false
}
