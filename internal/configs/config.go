package configs

import (
	"github.com/apparentlymart/go-versions/versions/constraints"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// Config is one module in the tree: the root, or what one call path leads to.
type Config struct {
	Path     addrs.Module
	Root     *Config
	Parent   *Config     // nil for the root
	Call     *ModuleCall // the call in Parent; nil for the root
	Children map[string]*Config
	Module   *Module
	Called   bool // a root that is only looked at as if it was called

	// Source is the call's evaluated source address, SourceText what it was evaluated from, as the configuration gives it, and Version
	// the installed version ("" where there is none).
	Source, SourceText string
	Version            string

	// ProviderInstances are the instances of each configuration of this module with for_each: each.value by key.
	ProviderInstances map[addrs.LocalProviderConfig]map[addrs.InstanceKey]cty.Value

	requests map[string]*ModuleRequest // the evaluated calls
	static   *staticScope
}

// Module is the decoded content of one directory. Maps are keyed by the names within the module.
type Module struct {
	Dir string // relative to the working directory, "." for the working directory itself

	RequiredProviders map[string]*RequiredProvider
	ProviderMetas     map[string]*ProviderMeta // by local name
	Backend           *Backend                 // nil: none
	Cloud             *Backend                 // a cloud block, Type "cloud"
	Encryption        []*hcl.Block             // terraform { encryption {} } blocks, override ones last

	Providers map[addrs.LocalProviderConfig]*Provider
	Variables map[string]*Variable
	Locals    map[string]*Local
	Outputs   map[string]*Output
	Calls     map[string]*ModuleCall
	Resources map[addrs.Resource]*Resource // managed, data and ephemeral
	Checks    map[string]*Check
	Moved     []*Moved
	Imports   []*Import
	Removed   []*Removed

	// LocalNames gives the local name that the module uses for a provider.
	LocalNames map[addrs.Provider]string

	Files []string // the source files, in the order in which they were read

	reqs      []Requirement   // what the module wants of providers, Module left out
	arguments *hcl.BodySchema // what calls of the module may hold
	sorted    []addrs.Resource
}

// RequiredProvider is an entry of required_providers.
type RequiredProvider struct {
	LocalName    string
	Provider     addrs.Provider
	Constraints  constraints.IntersectionSpec // nil: any version
	VersionText  string                       // as written; "" for none
	VersionRange hcl.Range
	Aliases      []addrs.LocalProviderConfig // configuration_aliases
	Range        hcl.Range
}

// ProviderMeta is a provider_meta block.
type ProviderMeta struct {
	LocalName string
	Config    hcl.Body
	Range     hcl.Range
}

// Backend is a backend or cloud block.
type Backend struct {
	Type      string
	Config    hcl.Body
	TypeRange hcl.Range
	Range     hcl.Range
}

// Provider is a provider block.
type Provider struct {
	Name        string // local name
	Alias       string
	Provider    addrs.Provider // what Name means
	Config      hcl.Body       // without meta-arguments
	ForEach     hcl.Expression
	VersionText string // deprecated version argument
	NameRange   hcl.Range
	AliasRange  *hcl.Range
	Range       hcl.Range
	Mock        bool // a mock_provider block of a test

	constraints  constraints.IntersectionSpec // of VersionText
	versionRange hcl.Range
}

// ProviderRef names the provider configuration that a block uses.
type ProviderRef struct {
	Name       string // local name
	Alias      string
	Key        hcl.Expression // instance key of a configuration with for_each; nil for none
	NameRange  hcl.Range
	AliasRange *hcl.Range
}

// Local gives the configuration named, in the module's own terms.
func (r *ProviderRef) Local() addrs.LocalProviderConfig {
	return addrs.LocalProviderConfig{LocalName: r.Name, Alias: r.Alias}
}

// Local is one named value of a locals block.
type Local struct {
	Name  string
	Expr  hcl.Expression
	Range hcl.Range
}

// Output is an output block.
type Output struct {
	Name          string
	Description   string
	Expr          hcl.Expression
	DependsOn     []hcl.Traversal
	Sensitive     bool
	SensitiveSet  bool
	Ephemeral     bool
	Deprecated    string
	Preconditions []*CheckRule
	Range         hcl.Range

	DescriptionSet bool
	ephemeralSet   bool
}

// ModuleCall is a module block.
type ModuleCall struct {
	Name         string
	SourceExpr   hcl.Expression
	VersionExpr  hcl.Expression // nil: none
	Count        hcl.Expression
	ForEach      hcl.Expression
	Enabled      hcl.Expression
	DependsOn    []hcl.Traversal
	Config       hcl.Body // the arguments: one attribute per variable
	Providers    []PassedProvider
	ProvidersSet bool // a providers argument was written; default configurations that it leaves out are inherited all the same
	SourceRange  hcl.Range
	Range        hcl.Range
}

// PassedProvider is one entry of a call's providers argument.
type PassedProvider struct {
	InChild  *ProviderRef
	InParent *ProviderRef
}

// Resource is a resource, data or ephemeral block.
type Resource struct {
	Addr     addrs.Resource
	Config   hcl.Body // without meta-arguments
	Count    hcl.Expression
	ForEach  hcl.Expression
	Enabled  hcl.Expression
	Provider *ProviderRef // nil: the default configuration of the type's provider
	// ProviderAddr is the provider that serves the block.
	ProviderAddr addrs.Provider

	DependsOn          []hcl.Traversal
	ReplaceTriggeredBy []hcl.Expression
	Preconditions      []*CheckRule
	Postconditions     []*CheckRule

	// Managed resources only.
	CreateBeforeDestroy    bool
	CreateBeforeDestroySet bool
	PreventDestroy         hcl.Expression // nil: not set
	IgnoreChanges          []hcl.Traversal
	IgnoreAll              bool
	Destroy                *bool               // lifecycle.destroy; nil: not set
	DestroyProblem         tfdiags.Diagnostics // why lifecycle.destroy can't be used: for planning to report
	Connection             *Connection
	Provisioners           []*Provisioner

	// Check is the check block that a scoped data source is nested in; nil elsewhere.
	Check *Check

	TypeRange hcl.Range
	Range     hcl.Range // of the block's header
}

// ProviderConfig gives the provider configuration that the block names, in the module's own terms.
func (r *Resource) ProviderConfig() addrs.LocalProviderConfig {
	if r.Provider == nil {
		return addrs.LocalProviderConfig{LocalName: r.Addr.ImpliedProvider()}
	}
	return r.Provider.Local()
}

// Connection is a connection block.
type Connection struct {
	Config hcl.Body
	Range  hcl.Range
}

// Provisioner is a provisioner block.
type Provisioner struct {
	Type       string
	Config     hcl.Body // without when, on_failure and connection
	Connection *Connection
	Destroy    bool // when = destroy
	Continue   bool // on_failure = continue
	TypeRange  hcl.Range
	Range      hcl.Range
}

// CheckRule is a condition: of a validation, precondition, postcondition or assert block.
type CheckRule struct {
	Condition    hcl.Expression
	ErrorMessage hcl.Expression
	Range        hcl.Range
}

// Check is a check block.
type Check struct {
	Name    string
	Data    *Resource // nil: none
	Asserts []*CheckRule
	Range   hcl.Range
}

// Moved is a moved block: From and To are relative to the declaring module.
type Moved struct {
	From, To           addrs.Target
	FromRange, ToRange hcl.Range
	Range              hcl.Range
}

// Removed is a removed block. From has no instance keys.
type Removed struct {
	From         addrs.Target
	Destroy      bool
	DestroySet   bool
	Provisioners []*Provisioner
	FromRange    hcl.Range
	Range        hcl.Range
}

// Import is an import block.
type Import struct {
	To hcl.Expression
	// ToResource is what To names, without the keys that are dynamic.
	ToResource   addrs.ConfigResource
	ID           hcl.Expression // exactly one of ID and Identity is set
	Identity     hcl.Expression
	ForEach      hcl.Expression
	Provider     *ProviderRef
	ProviderAddr addrs.Provider
	Range        hcl.Range

	static        *addrs.AbsInstance // what To names; nil when its keys are dynamic
	providerRange hcl.Range
}

// Variable is a variable block; see variable.go for its type and default.
type Variable struct {
	Name        string
	Description string
	// Type is the type constraint without optional() marks, TypeDefaults what those say.
	Type         TypeConstraint
	Default      Default
	Sensitive    bool
	SensitiveSet bool
	Ephemeral    bool
	Nullable     bool
	Deprecated   string
	Const        *bool // nil: not set
	Validations  []*CheckRule
	Range        hcl.Range
	TypeRange    hcl.Range

	DescriptionSet bool

	defaultExpr                        hcl.Expression
	labelRange                         hcl.Range
	typeSet, ephemeralSet, nullableSet bool
}

// Required tells whether a value has to be given.
func (v *Variable) Required() bool { return !v.Default.Set }
