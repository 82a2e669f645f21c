package reads

import (
	"iter"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/lang"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Tree is the tree of modules with their values and resources.
type Tree struct {
	Root      *Module
	Modules   map[addrs.Module]*Module
	Resources []*Resource // in the order of their nodes
	Values    []*Value
	Nodes     []*Node // by ID
	Repeats   bool    // whether any block or module call has instances with keys

	Imports  map[*Resource][]*Import   // import blocks of each resource; blocks with for_each come last
	Siblings map[*Module][]SiblingRead // by module call: arguments that read outputs of sibling instances
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

	// Each is the object in the call's for_each, if the instances of the call are decided before the object is
	// complete; see chain.go.
	Each *Each

	Mutual bool // whether an argument of the call reads outputs of other instances of the call

	CallSlot int // position among the calls in the parent module

	Expand *Node // decides the module's instances; nil for the root and for modules that exist only in the state
	End    *Node // waits for everything in the module

	Variables, Locals, Outputs map[string]*Value
	Calls                      map[string]*Module
	Resources                  map[addrs.Resource]*Resource
	Actions                    map[addrs.Resource]*Resource // the action blocks; see actions.go in package graph
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
	CallReads   []KeyedRead // single instances of module calls that Expr reads
	AliasReads  []KeyedRead // aliases that Expr reads only by key
	EachCall    *Each       // the call in for_each that Expr reads with each.value; see chain.go
	PerInstance bool        // Expr refers to count or each, so its value differs between instances of the call
	Conditions  []Condition // validations or preconditions
	Alias       *Alias      // nil unless the value is a resource, or a map with its keys; see alias.go
	callAlias   *CallAlias  // nil unless the value is a local that is a module call; see alias_call.go
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

	Node *Node // completes the resource; its value is final after this node
	// Inputs precedes the instances. It waits for everything that the block refers to, except
	// objects for which the instances wait one by one. It is the same as Node unless a plan separates
	// the instances.
	Inputs *Node

	ProviderUse
	instanceReads

	Prior    []*states.Resource // objects in the state, by module instance
	Recorded Recorded
	// CreateBeforeDestroy is set by the block, or forced by a resource that depends on this one.
	CreateBeforeDestroy bool

	Selected *Selection // instances that take part; nil for all
	Opened   bool       // for ephemeral resources: Steps open the objects

	// Callers are, for an action that is requested and refers to caller, the resources that trigger it.
	Callers []*Resource
}

// instanceReads holds what the instances of a block read only by key; see keyedReads.
type instanceReads struct {
	ByKey []KeyedRead // the block's own resource comes first, and module calls come last
	Each  *Each       // the object in for_each, if the instances wait for single instances of it
	// DeferredRefErrors holds the errors of references in the content of dynamic blocks. They are
	// reported only if the dynamic block generates any blocks.
	DeferredRefErrors map[*addrs.Reference]tfdiags.Diagnostics
}

// KeyedRead is a resource or module call whose instances a block or value reads only one by one, directly
// or through a value that is the whole of it, with the references that select them.
type KeyedRead struct {
	Of     *Resource // nil for a module call
	Call   *Module   // nil for a resource
	Output *Value    // the output that is read from each instance of the call; nil for all outputs
	Via    *Value    // the alias of the resource, or the local that is the call; nil if it is read directly
	Refs   lang.Instances
	Whole  bool // whether the instances of the block wait for the whole object in a plan
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
	ActionRefs                    []*lang.Refs // what carrying out the actions reads, other than the resource itself
	ReadsCalls                    bool         // whether an expression reads single instances of a module call
	Problems                      tfdiags.Diagnostics
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

// Resource returns the resource at the given address, or nil.
func (t *Tree) Resource(addr addrs.ConfigResource) *Resource {
	m := t.Modules[addr.Module]
	if m == nil {
		return nil
	}
	return m.Resources[addr.Resource]
}

// Import is an import block, or an import that is requested on the command line.
type Import struct {
	Config   *configs.Import // nil for an import from the command line
	Module   *Module         // the module of the block
	Resource *Resource
	To       *lang.Expr // only its index expressions are evaluated
	ID       *lang.Expr
	Identity *lang.Expr
	ForEach  *lang.Expr
	Command  CommandImport
	Generate bool // the resource has no block, so its configuration is generated
}

// Exprs returns the expressions of an import block.
func (t *Import) Exprs() []*lang.Expr {
	var out []*lang.Expr
	for _, e := range []*lang.Expr{t.ForEach, t.ID, t.Identity, t.To} { // in order of evaluation
		if e != nil {
			out = append(out, e)
		}
	}
	return out
}

// CommandImport is an import that is requested on the command line.
type CommandImport struct {
	Addr addrs.AbsInstance
	ID   string
}

// Provider is a provider configuration that is in use.
type Provider struct {
	Addr      addrs.AbsProviderConfig
	Module    *Module
	Config    *configs.Provider // nil for an implied configuration, which has an empty body
	Schema    *providers.Schema
	Body      *lang.Body
	Instances map[addrs.InstanceKey]cty.Value // each.value by key; nil without for_each

	FunctionsOnly bool // only its functions are used, so it is not configured
	Assumed       bool // the caller would pass the configuration, but a module is validated without its caller
	// Gone says that the configuration no longer has it. Its instances are configured as the state says,
	// when an object needs them.
	Gone bool

	Node, Close *Node
	Called      bool // whether the configuration calls its functions
}

// ActionTrigger is an action_trigger block with its analyzed expressions.
type ActionTrigger struct {
	Config    *configs.ActionTrigger
	Condition *lang.Expr   // may be nil
	Keys      []*lang.Expr // parallel to Config.Actions; nil for references without a key
}

// destroys reports whether the destruction of an object triggers the actions.
func (t *ActionTrigger) destroys() bool {
	return slices.ContainsFunc(t.Config.Events, configs.ActionEvent.Destroys)
}

// Refs returns the references of the condition and the keys.
func (t *ActionTrigger) Refs() []*lang.Refs {
	var out []*lang.Refs
	for _, e := range append(slices.Clip(t.Keys), t.Condition) {
		if e != nil {
			out = append(out, &e.Refs)
		}
	}
	return out
}

// DestroysActions reports whether the destruction of an object of the resource triggers actions.
func (r *Resource) DestroysActions() bool {
	return r.Exprs != nil && slices.ContainsFunc(r.Exprs.ActionTriggers, func(t ActionTrigger) bool { return t.destroys() })
}

// Triggered returns the actions that a resource triggers.
func (r *Resource) Triggered() []*Resource {
	if r.Config == nil || len(r.Config.Lifecycle.ActionTriggers) == 0 {
		return nil
	}
	var out []*Resource
	for _, t := range r.Config.Lifecycle.ActionTriggers {
		for _, ref := range t.Actions {
			if a := r.Module.Actions[ref.Action]; !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// RepeatedBy returns the innermost call with count, for_each or enabled that contains a module or calls
// it. It returns nil if no such call exists.
func (m *Module) RepeatedBy() *Module {
	for ; m != nil && m.Parent != nil; m = m.Parent {
		if m.Repetition != (Repetition{}) {
			return m
		}
	}
	return nil
}

// in returns the address of the only instance of m that is, or is inside, a given module instance.
// at is the address of this module instance, and call is its module: m or a module that contains m.
// The calls from there down to m have a single instance each.
func (m *Module) in(at addrs.ModuleInstance, call *Module) addrs.ModuleInstance {
	if m == call {
		return at
	}
	return m.Parent.in(at, call).Child(m.Call.Name, addrs.NoKey)
}

// HasConditions reports whether the resource has preconditions or postconditions.
func (r *Resource) HasConditions() bool {
	return r.Config != nil && len(r.Exprs.Preconditions)+len(r.Exprs.Postconditions) > 0
}

// Nested reports whether the resource is the data source of a check block.
func (r *Resource) Nested() bool { return r.Config != nil && r.Config.Check != nil }

// CreatesFirst reports whether the block of r itself sets create_before_destroy.
func (r *Resource) CreatesFirst() bool {
	return r.Config != nil && r.Config.Lifecycle.CreateBeforeDestroy.Value
}

// StoredDependencies returns the resources that the state records as dependencies of the resource's
// current objects. It may return the same resource several times.
func (r *Resource) StoredDependencies() iter.Seq[addrs.ConfigResource] {
	return func(yield func(addrs.ConfigResource) bool) {
		var last *states.Dependencies
		for _, prior := range r.Prior {
			for _, inst := range prior.Instances {
				if inst.Current == nil || inst.Current.Dependencies == last {
					continue
				}
				last = inst.Current.Dependencies
				for dep := range last.All() {
					if !yield(dep) {
						return
					}
				}
			}
		}
	}
}

// Single reports whether a module call has one instance, without a key.
func (m *Module) Single() bool { return m.Repetition == Repetition{} }

// Repeated reports whether the instances of a module, or of a module that contains it, have keys.
func (m *Module) Repeated() bool {
	for ; m != nil; m = m.Parent {
		if m.Repetition.Repeats() {
			return true
		}
	}
	return false
}

// ReadsSiblings reports whether a module, or one around it, is called in such a way that the
// instances of the call read each other.
func (m *Module) ReadsSiblings() bool {
	for ; m != nil; m = m.Parent {
		if m.Mutual {
			return true
		}
	}
	return false
}
