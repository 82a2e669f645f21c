package configs

import (
	"github.com/apparentlymart/go-versions/versions/constraints"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
)

// Opt is an argument that may be set or not. If it is not set, Value is the default.
type Opt[T any] struct {
	Value T
	Set   bool
}

// Config is one module in the module tree: the root module, or a module reached by one path of
// module calls.
type Config struct {
	Path     addrs.Module
	Root     *Config
	Parent   *Config     // nil for the root
	Call     *ModuleCall // the call in Parent; nil for the root
	Children map[string]*Config
	Module   *Module
	Called   bool // whether the root module is loaded as if another module called it

	// Source is the evaluated source address of the call, and SourceText is the source as the
	// configuration writes it. Version is the installed version, or "" if the source has no
	// versions.
	Source, SourceText string
	Version            string

	// ProviderInstances describes the provider configurations of this module that have for_each.
	// For each configuration it maps the instance keys to each.value.
	ProviderInstances map[addrs.LocalProviderConfig]map[addrs.InstanceKey]cty.Value

	requests map[string]*ModuleRequest // evaluated module calls, by name
	static   *staticScope
}

// Module is the decoded content of one directory. Its maps are keyed by names within the module.
type Module struct {
	Dir string // relative to the working directory, "." for the working directory itself

	RequiredProviders map[string]*RequiredProvider
	ProviderMetas     map[string]*ProviderMeta // keyed by the provider's local name
	Backend           *Backend                 // a backend or state_store block; nil if absent
	Cloud             *Backend                 // a cloud block, with Type "cloud"; nil if absent
	Encryption        []*hcl.Block             // terraform { encryption {} } blocks; blocks in override files come last

	Providers map[addrs.LocalProviderConfig]*Provider
	Variables map[string]*Variable
	Locals    map[string]*Local
	Outputs   map[string]*Output
	Calls     map[string]*ModuleCall
	Resources map[addrs.Resource]*Resource // managed, data and ephemeral
	Actions   map[addrs.Resource]*Resource
	Checks    map[string]*Check
	Moved     []*Moved
	RootMoves []*RootMove // only in a root module
	Imports   []*Import
	Removed   []*Removed

	// LocalNames maps each provider to its local name in the module.
	LocalNames map[addrs.Provider]string

	Files []string // source files, in the order they were read

	reqs      []Requirement    // provider requirements, with Module unset
	dynamic   []hcl.Expression // arguments in required_providers that refer to variables or local values
	late      bool             // whether blocks have late arguments; see late.go
	lateMoves []*lateMove
	symbols   []string        // files of the symbol libraries that the module imports
	arguments *hcl.BodySchema // schema of the arguments in calls of the module
	sorted    []addrs.Resource
}

// Libraries returns the files of the symbol libraries that the module imports.
func (m *Module) Libraries() []string { return m.symbols }

// RequiredProvider is an entry of required_providers.
type RequiredProvider struct {
	LocalName    string
	Provider     addrs.Provider
	Constraints  constraints.IntersectionSpec // nil if any version is acceptable
	VersionText  string                       // as written; "" if absent
	VersionRange hcl.Range
	Aliases      []addrs.LocalProviderConfig // names listed in configuration_aliases
	Range        hcl.Range

	dynamicSource bool // whether the source refers to variables or local values
}

// ProviderMeta is a provider_meta block, which holds data of the module for a provider.
type ProviderMeta struct {
	LocalName string
	Config    hcl.Body
	Range     hcl.Range
}

// Backend is a backend, cloud or state_store block. Config is not decoded, because its schema depends
// on Type.
type Backend struct {
	Type      string
	Config    hcl.Body
	Store     *Store // nil unless a provider has the store
	TypeRange hcl.Range
	Range     hcl.Range
}

// Store has the content of a state_store block.
type Store struct {
	Arguments hcl.Body // what is outside of the provider block
	Name      string   // local name of the provider
	Provider  addrs.Provider
	Config    hcl.Body // body of the provider block
	Range     hcl.Range
}

// Provider is a provider block. ForEach and AliasRange are nil if the argument is absent.
type Provider struct {
	Name        string // local name
	Alias       string
	Provider    addrs.Provider // the provider that Name refers to
	Config      hcl.Body       // body without meta-arguments
	ForEach     hcl.Expression
	VersionText string // deprecated version argument; "" if absent
	NameRange   hcl.Range
	AliasRange  *hcl.Range
	Range       hcl.Range
	Mock        bool // whether it is a mock_provider block of a test

	constraints  constraints.IntersectionSpec // constraints parsed from VersionText
	versionRange hcl.Range
}

// ProviderRef is a reference to a provider configuration in a block.
type ProviderRef struct {
	Name       string // local name
	Alias      string
	Key        hcl.Expression // instance key, for a configuration with for_each; nil if absent
	NameRange  hcl.Range
	AliasRange *hcl.Range
}

// Local returns the name of the provider configuration within the module.
func (r *ProviderRef) Local() addrs.LocalProviderConfig {
	return addrs.LocalProviderConfig{LocalName: r.Name, Alias: r.Alias}
}

// Local is one named value of a locals block.
type Local struct {
	Name  string
	Expr  hcl.Expression
	Range hcl.Range
}

// Output is an output block. Expr is nil only in override files that don't set the value.
type Output struct {
	Name          string
	Description   Opt[string]
	Expr          hcl.Expression
	DependsOn     []hcl.Traversal
	Sensitive     Opt[bool]
	Ephemeral     Opt[bool]
	Deprecated    string
	Preconditions []*CheckRule
	Range         hcl.Range

	typeExpr      hcl.Expression   // nil if absent
	lateDependsOn []hcl.Expression // see late.go
}

// ModuleCall is a module block. Expressions of absent arguments are nil.
type ModuleCall struct {
	Name        string
	SourceExpr  hcl.Expression
	VersionExpr hcl.Expression // nil if absent
	Count       hcl.Expression
	ForEach     hcl.Expression
	Enabled     hcl.Expression
	DependsOn   []hcl.Traversal
	Config      hcl.Body // the arguments: one attribute per variable
	// Providers is the providers argument. The called module inherits default configurations
	// that the argument omits.
	Providers   Opt[[]PassedProvider]
	SourceRange hcl.Range
	Range       hcl.Range

	lateDependsOn []hcl.Expression // see late.go
}

// PassedProvider is one entry of a call's providers argument.
type PassedProvider struct {
	InChild  *ProviderRef
	InParent *ProviderRef
}

// Resource is a resource, data, ephemeral or action block.
type Resource struct {
	Addr     addrs.Resource
	Config   hcl.Body // body without meta-arguments; for an action, that of its config block
	Count    hcl.Expression
	ForEach  hcl.Expression
	Enabled  hcl.Expression
	Provider *ProviderRef // nil means the default configuration of the type's provider
	// ProviderAddr is the provider of the resource type.
	ProviderAddr addrs.Provider

	DependsOn []hcl.Traversal
	Lifecycle *Lifecycle // never nil

	// Connection and Provisioners are for managed resources only.
	Connection   *Connection
	Provisioners []*Provisioner

	// Check is the check block that contains the data source, or nil.
	Check *Check

	TypeRange hcl.Range
	Range     hcl.Range // range of the block's header

	lateDependsOn []hcl.Expression // see late.go
}

// Lifecycle is a resource's lifecycle block, except for the enabled argument. Resources without the
// block share an empty one, so a Lifecycle must not be changed after decoding.
type Lifecycle struct {
	Preconditions  []*CheckRule
	Postconditions []*CheckRule

	// IgnoreMissing is for data sources: what doesn't exist is null instead of an error.
	IgnoreMissing Opt[bool]

	// The remaining settings are for managed resources only.
	ReplaceTriggeredBy  []hcl.Expression
	PreventDestroy      hcl.Expression // nil if not set
	IgnoreChanges       []hcl.Traversal
	IgnoreAll           bool
	ActionTriggers      []*ActionTrigger
	CreateBeforeDestroy Opt[bool]
	Destroy             Opt[bool]
	DestroyProblem      error // errors in the destroy argument, reported only when planning

	late map[string]hcl.Expression // arguments that are not constant, by name; see late.go
}

var noLifecycle Lifecycle

// ProviderConfig returns the name of the resource's provider configuration within the module.
func (r *Resource) ProviderConfig() addrs.LocalProviderConfig {
	if r.Provider == nil {
		return addrs.LocalProviderConfig{LocalName: r.Addr.ImpliedProvider()}
	}
	return r.Provider.Local()
}

// Connection is a connection block of a resource or a provisioner. Its body is not decoded.
type Connection struct {
	Config hcl.Body
	Range  hcl.Range
}

// Provisioner is a provisioner block. Connection is nil if it has no connection block.
type Provisioner struct {
	Type       string
	Config     hcl.Body // body without when, on_failure and connection
	Connection *Connection
	Destroy    bool // runs on destroy (when = destroy)
	Continue   bool // failures are ignored (on_failure = continue)
	TypeRange  hcl.Range
	Range      hcl.Range
}

// CheckRule is the condition of a validation, precondition, postcondition or assert block.
type CheckRule struct {
	Condition    hcl.Expression
	ErrorMessage hcl.Expression
	Range        hcl.Range
}

// Check is a check block with its assertions and its scoped data source.
type Check struct {
	Name    string
	Data    *Resource // nil if absent
	Asserts []*CheckRule
	Range   hcl.Range
}

// Moved is a moved block. From and To are relative to the declaring module.
type Moved struct {
	From, To addrs.Target
	Range    hcl.Range
}

// RootMove is a moved block of which one end is in another root module, written as root["NAME"] before the
// address.
type RootMove struct {
	Root     string // name of the other root module
	Leaves   bool   // the objects move from this root module to the other one, not the other way
	From, To addrs.Target
	Range    hcl.Range
}

// Removed is a removed block. From has no instance keys.
type Removed struct {
	From         addrs.Target
	Destroy      Opt[bool]
	Provisioners []*Provisioner
	FromRange    hcl.Range
	Range        hcl.Range
}

// Import is an import block. Expressions of absent arguments are nil.
type Import struct {
	To hcl.Expression
	// ToResource is the address of the resource block that To refers to, without instance keys.
	ToResource  addrs.ConfigResource
	Keyed       bool           // whether To has an instance key of the resource
	ID          hcl.Expression // exactly one of ID and Identity is set
	Identity    hcl.Expression
	ForEach     hcl.Expression
	ForEachText string // ForEach as it is written; "" in JSON syntax
	// IgnoreMissing says that the resource creates an object if none exists that can be imported.
	IgnoreMissing bool
	Provider      *ProviderRef
	ProviderAddr  addrs.Provider
	Range         hcl.Range

	static        *addrs.AbsInstance // the instance that To refers to; nil if its keys are dynamic
	providerRange hcl.Range
}

// Variable is a variable block. Its type and default are described in variable.go.
type Variable struct {
	Name        string
	Description Opt[string]
	// Type is the type constraint; the default is any type.
	Type        TypeConstraint
	Default     Opt[cty.Value] // default value, converted to Type
	Sensitive   Opt[bool]
	Ephemeral   Opt[bool]
	Nullable    Opt[bool] // true by default
	Deprecated  string
	Const       Opt[bool]
	Validations []*CheckRule
	Range       hcl.Range
	TypeRange   hcl.Range

	defaultExpr hcl.Expression
	labelRange  hcl.Range
}

// Required reports whether callers must set the variable.
func (v *Variable) Required() bool { return !v.Default.Set }

// BackendOrCloud returns the backend block or the cloud block of a module, or nil if it has neither.
func (m *Module) BackendOrCloud() *Backend {
	if m.Cloud != nil {
		return m.Cloud
	}
	return m.Backend
}
