package engine

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
type tree struct {
	edges dag.Graph
	nodes []*Node // by their ID

	root      *module
	modules   map[addrs.Module]*module
	resources []*resource // in the order of their nodes
	values    []*value
	byConfig  map[addrs.ConfigResource]*resource
	providers map[addrs.AbsProviderConfig]*providerConfig

	// functions are the providers whose functions a module calls, functionKeys the instances of those with several.
	functions    map[functionUse]*providerConfig
	functionKeys map[functionUse]*keyExpr

	// refused are the references that name nothing, by what they stand in. While validating, an expression that has some doesn't keep
	// the rest of its node from being evaluated; in all other phases it does, and nothing is listed here.
	refused map[unit]tfdiags.Diagnostics
}

// functionUse is a provider function in a module.
type functionUse struct {
	module *module
	name   addrs.ProviderFunction
}

// module is a place in the module tree during one operation. What is below "walk" is written by the module's own node and read by
// nodes that wait for it.
type module struct {
	num    int // position among the graph's modules
	path   addrs.Module
	cfg    *configs.Config // nil: the module is in the state only
	parent *module
	call   *configs.ModuleCall
	rep    repetitionExprs

	dependsOn lang.Refs // of call

	callSlot int // position among the calls of the parent

	stepsIn   addrs.ModuleInstance // the first instance in which there are Steps that make something
	hasSteps  bool
	stepsVary bool // there are such Steps in several instances

	expand *Node // nil for the root and for modules that are in the state only
	closed *Node // waits for everything in the module

	variables, locals, outputs map[string]*value
	calls                      map[string]*module
	resources                  map[addrs.Resource]*resource
	checks                     []*check
	valueSlots, resourceSlots  int
}

// valueKind tells the three kinds of named values apart.
type valueKind uint8

const (
	variableValue valueKind = iota
	localValue
	outputValue
)

// value is a variable, local or output of a module.
type value struct {
	kind   valueKind
	name   string
	module *module
	node   *Node
	slot   int

	variable  *configs.Variable
	output    *configs.Output
	expr      *lang.Expr // a variable's is the call's argument, evaluated in the calling module; nil where none was written
	dependsOn lang.Refs  // an output's
	perCall   bool       // expr uses count or each, so that it differs between the instances of the call
	rules     []rule     // validations or preconditions
}

// check is a check block.
type check struct {
	cfg    *configs.Check
	module *module
	node   *Node
	rules  []rule
}

// rule is an analysed condition.
type rule struct {
	cfg       *configs.CheckRule
	condition *lang.Expr
	message   *lang.Expr
}

// resource is a resource block, or what the state has of one that is gone.
type resource struct {
	num    int // position among the graph's resources
	addr   addrs.ConfigResource
	module *module
	cfg    *configs.Resource // nil: the state only
	exprs  *resourceExprs    // of cfg
	schema *providers.ResourceSchema
	// unsure are references in the content of the body's dynamic blocks, with what is wrong with them: perhaps nobody evaluates them.
	unsure map[*addrs.Reference]tfdiags.Diagnostics

	node *Node // settles the resource: afterwards its value stands
	open *Node // waits for all that the block refers to; the same as node where there are no Steps
	slot int

	expand  *Node                               // decides the instances; the same as open unless it is separate
	makers  map[addrs.InstanceKey][]*step       // Steps that make something, once somebody asked
	singles map[addrs.InstanceKey]*oneInstance  // that references wait for by themselves
	places  map[addrs.ModuleInstance]*placement // where it is separate: what is done in each instance of the module

	provider    *providerConfig
	providerKey *keyExpr // nil: NoKey

	prior []*states.Resource // what the state has, by module instance

	deps        []addrs.ConfigResource // the nearest resources that it depends on, sorted
	createFirst bool                   // create before destroy, by itself or forced by a dependent
	noteFirst   bool                   // planning: its objects are noted as ones to be replaced by creating first

	imports   []*importTarget
	removed   *configs.Removed // the removed block that matches; nil for none
	hadTarget bool             // made up for an import target whose configuration is to be written
	selected  *selection       // which instances take part; nil: all
	// unwanted selects the objects that take part though the configuration doesn't want them: instances that are gone and deposed
	// objects. Nothing depends on them, so only targets that name them select them. Nil: all that selected has.
	unwanted *selection

	unused bool // an ephemeral resource whose values nobody is going to use
}

// resourceExprs are a resource block's analysed expressions, shared by all places of the tree that its module has.
type resourceExprs struct {
	body           *lang.Body
	rep            repetitionExprs
	pre, post      []rule
	triggers       []*lang.Expr
	preventDestroy *lang.Expr
	dependsOn      lang.Refs
	provisioners   []*provisionerExprs
	problems       tfdiags.Diagnostics
	itself         tfdiags.Diagnostics // what the repetition asks of the resource itself; an error once instances are needed
}

// provisionerExprs are a provisioner block's analysed expressions.
type provisionerExprs struct {
	cfg        *configs.Provisioner
	body       *lang.Body
	connection *lang.Body // nil: none
}

// keyExpr is the instance key of a provider configuration with for_each, and the module that it is evaluated in.
type keyExpr struct {
	expr   *lang.Expr
	module *module
	call   string // the call whose providers argument has the key; "": the resource's own provider argument
}

// emptyBodyAt is a body without content that is reported at a place.
func emptyBodyAt(rng hcl.Range) hcl.Body { return &hclsyntax.Body{SrcRange: rng, EndRange: rng} }

// resourceOf gives the resource that a reference names, nil for anything else.
func (m *module) resourceOf(subject addrs.Referenceable) *resource {
	switch s := subject.(type) {
	case addrs.Resource:
		return m.resources[s]
	case addrs.ResourceInstance:
		return m.resources[s.Resource]
	}
	return nil
}

// nodeOf gives the node of a value or module call that a reference names.
func (m *module) nodeOf(subject addrs.Referenceable) *Node {
	switch s := subject.(type) {
	case addrs.InputVariable:
		if v := m.variables[s.Name]; v != nil {
			return v.node
		}
	case addrs.LocalValue:
		if v := m.locals[s.Name]; v != nil {
			return v.node
		}
	case addrs.ModuleCallOutput:
		if child := m.calls[s.Call.Name]; child != nil && child.outputs[s.Output] != nil {
			return child.outputs[s.Output].node
		}
	}
	if call, ok := moduleCallOf(subject); ok && m.calls[call] != nil {
		return m.calls[call].closed
	}
	return nil
}

// callsFunctions tells whether functions of a provider are called: those are not mocked.
func (t *tree) callsFunctions(p *providerConfig) bool {
	for _, used := range t.functions {
		if used == p {
			return true
		}
	}
	return false
}
