package providers

import (
	"context"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/tfdiags"
)

// BugNotice is the end of messages about providers that violate the protocol.
const BugNotice = "This is a bug in the provider: please report it to its developers."

// NoAnswer is the summary of the error of a call that got no answer, most often because the provider's
// process has ended.
const NoAnswer = "Plugin did not respond"

// Interface is a running provider. It has many methods because it mirrors the plugin protocol.
type Interface interface {
	// Schema returns the provider's schema, which is fetched once and shared.
	Schema(ctx context.Context) (*Schema, tfdiags.Diagnostics)

	ValidateProviderConfig(ctx context.Context, config cty.Value) tfdiags.Diagnostics
	ValidateResource(ctx context.Context, typ string, config cty.Value) tfdiags.Diagnostics
	ValidateDataSource(ctx context.Context, typ string, config cty.Value) tfdiags.Diagnostics
	ValidateEphemeral(ctx context.Context, typ string, config cty.Value) tfdiags.Diagnostics

	Configure(ctx context.Context, config cty.Value) tfdiags.Diagnostics

	UpgradeResourceState(ctx context.Context, req UpgradeRequest) UpgradeResponse
	UpgradeResourceIdentity(ctx context.Context, req UpgradeRequest) UpgradeResponse
	ReadResource(ctx context.Context, req ReadRequest) ReadResponse
	PlanResourceChange(ctx context.Context, req PlanRequest) PlanResponse
	ApplyResourceChange(ctx context.Context, req ApplyRequest) ApplyResponse
	ImportResourceState(ctx context.Context, req ImportRequest) ImportResponse
	MoveResourceState(ctx context.Context, req MoveRequest) MoveResponse

	// The calls that newer providers have. A provider without them embeds Basic.
	Generator
	Lister
	Actor
	StateStore
	StateLocker

	ReadDataSource(ctx context.Context, req ReadDataRequest) ReadDataResponse

	OpenEphemeral(ctx context.Context, typ string, config cty.Value) OpenResponse
	RenewEphemeral(ctx context.Context, typ string, private []byte) RenewResponse
	CloseEphemeral(ctx context.Context, typ string, private []byte) tfdiags.Diagnostics

	// Functions returns the provider's functions, which may depend on its configuration.
	Functions(ctx context.Context) (map[string]*Function, tfdiags.Diagnostics)
	// CallFunction calls a function. A *FunctionError is an error of the function itself. It may
	// say which argument is wrong.
	CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, error)

	// AllowDeferral permits the provider to defer an object that it can't work on yet. It is called
	// before Configure.
	AllowDeferral()

	// Stop asks the provider to end its current calls soon. It doesn't wait for them.
	Stop(ctx context.Context) error
	// Close ends the provider. No other method may be called after it.
	Close() error
}

// Schema is the description of a provider.
type Schema struct {
	Provider     *configschema.Block
	ProviderMeta *configschema.Block // nil if the provider has none
	Resources    TypeTable
	DataSources  TypeTable
	Ephemerals   TypeTable
	Functions    map[string]*Function
	// Lists holds the schemas of the config blocks of list blocks.
	Lists       TypeTable
	Actions     TypeTable
	StateStores TypeTable

	// PlanDestroy reports that the provider also wants to plan the destruction of objects.
	PlanDestroy bool
	// SchemaOptional reports that a new process of the provider need not be asked for a schema that
	// is already known.
	SchemaOptional bool
	// MoveResource reports that the provider can convert objects of other resource types to its
	// own.
	MoveResource bool
	// GenerateConfig reports that the provider can make the configuration of an existing object.
	GenerateConfig bool
}

// Table returns the schemas for a mode, or nil if there are none.
func (s *Schema) Table(mode addrs.ResourceMode) TypeTable {
	switch mode {
	case addrs.Managed:
		return s.Resources
	case addrs.Data:
		return s.DataSources
	case addrs.Ephemeral:
		return s.Ephemerals
	case addrs.Action:
		return s.Actions
	}
	return nil
}

// TypeTable holds the schemas of resource types by name. Implementations may decode a schema on
// first use.
type TypeTable interface {
	// Type returns the schema of a type, or nil if the provider has no such type.
	Type(name string) *ResourceSchema
	// Names returns the names of the types, sorted.
	Names() []string
}

// Types is a TypeTable of decoded schemas.
type Types map[string]*ResourceSchema

// ResourceSchema is the schema of one type of resources, data sources, ephemeral resources, list
// blocks, actions or state stores.
type ResourceSchema struct {
	Version         int64
	Block           *configschema.Block
	Identity        *configschema.Object // nil if the type has no identity
	IdentityVersion int64
	// Invalid is the reason why the schema can't be used, or nil. If it is set, Block is empty.
	Invalid error
}

// Function describes a provider-defined function.
type Function struct {
	Params             []FunctionParam
	Variadic           *FunctionParam // nil if the function is not variadic
	Return             cty.Type
	Summary            string
	Description        string
	DescriptionKind    configschema.StringKind
	DeprecationMessage string
}

// Param returns the parameter of the i-th argument, or nil if there are too many arguments.
func (f *Function) Param(i int) *FunctionParam {
	if i < len(f.Params) {
		return &f.Params[i]
	}
	return f.Variadic
}

// Accepts reports whether all arguments are wholly known, apart from those that may be unknown.
func (f *Function) Accepts(args []cty.Value) bool {
	for i, arg := range args {
		if p := f.Param(i); p != nil && !p.AllowUnknown && !arg.IsWhollyKnown() {
			return false
		}
	}
	return true
}

// FunctionParam is one parameter of a provider-defined function.
type FunctionParam struct {
	Name            string
	Type            cty.Type
	AllowNull       bool
	AllowUnknown    bool
	Description     string
	DescriptionKind configschema.StringKind
}

// FunctionError is an error of a function. Arg is the index of the argument, or -1.
type FunctionError struct {
	Text string
	Arg  int
}

func (e *FunctionError) Error() string { return e.Text }

// UpgradeRequest is a request to upgrade a stored object or identity to the current schema.
type UpgradeRequest struct {
	Type    string
	Version int64
	JSON    []byte            // stored object as JSON; nil if Flatmap is set
	Flatmap map[string]string // stored object in the form of states before version 4
}

// UpgradeResponse holds the upgraded value.
type UpgradeResponse struct {
	Value       cty.Value
	Diagnostics tfdiags.Diagnostics
}

// ReadRequest is a request to read an object.
type ReadRequest struct {
	Type     string
	Prior    cty.Value
	Private  []byte
	Meta     cty.Value // value of provider_meta; cty.NilVal if not set
	Identity cty.Value // cty.NilVal if the object has no identity
}

// Reasons for deferred responses.
const (
	DeferredConfig   = "resource_config_unknown" // the configuration of the object is unknown
	DeferredProvider = "provider_config_unknown" // the configuration of the provider is unknown
	DeferredAbsent   = "absent_prereq"           // something that the object needs does not exist
	DeferredOther    = "unknown"
)

// ReadResponse holds the object that was read. State is null if the object no longer exists.
type ReadResponse struct {
	State       cty.Value
	Private     []byte
	Identity    cty.Value
	Deferred    string // one of the reasons above; "" if the object is not deferred
	Diagnostics tfdiags.Diagnostics
}

// PlanRequest is a request to plan a change of an object.
type PlanRequest struct {
	Type     string
	Prior    cty.Value // null if the object is created
	Proposed cty.Value // null if the object is destroyed
	Config   cty.Value
	Private  []byte
	Meta     cty.Value
	Identity cty.Value
}

// PlanResponse holds the planned object.
type PlanResponse struct {
	Planned         cty.Value
	RequiresReplace []cty.Path
	Private         []byte
	Identity        cty.Value
	LegacyTypes     bool // whether the provider uses the legacy SDK, which doesn't follow the planning rules exactly
	Deferred        string
	Diagnostics     tfdiags.Diagnostics
}

// ApplyRequest is a request to apply a planned change.
type ApplyRequest struct {
	Type     string
	Prior    cty.Value
	Planned  cty.Value // null if the object is destroyed
	Config   cty.Value
	Private  []byte // private data from the plan
	Meta     cty.Value
	Identity cty.Value // identity from the plan
}

// ApplyResponse holds the resulting object, even if there are errors.
type ApplyResponse struct {
	New         cty.Value // cty.NilVal if the response has no object
	Private     []byte
	Identity    cty.Value
	LegacyTypes bool
	Diagnostics tfdiags.Diagnostics
	// Unanswered says that the provider may have made the change, but that there is no usable
	// response, for example because the process has ended.
	Unanswered bool
}

// ImportRequest is a request to import an existing object. Either ID or Identity is set.
type ImportRequest struct {
	Type     string
	ID       string
	Identity cty.Value
}

// ImportResponse holds the imported objects.
type ImportResponse struct {
	Imported    []ImportedObject
	Deferred    string
	Diagnostics tfdiags.Diagnostics
}

// ImportedObject is one of the objects that an import returns.
type ImportedObject struct {
	Type     string
	State    cty.Value
	Private  []byte
	Identity cty.Value
}

// MoveRequest is a request to convert an object of another resource type.
type MoveRequest struct {
	SourceProvider      string // full address of the provider
	SourceType          string
	SourceSchemaVersion int64
	SourceJSON          []byte
	SourcePrivate       []byte
	SourceIdentity      []byte // identity as JSON; nil if the object has none

	SourceIdentityVersion int64
	TargetType            string
}

// MoveResponse holds the converted object.
type MoveResponse struct {
	State       cty.Value
	Private     []byte
	Identity    cty.Value
	Diagnostics tfdiags.Diagnostics
}

// ReadDataRequest is a request to read a data source.
type ReadDataRequest struct {
	Type   string
	Config cty.Value
	Meta   cty.Value
	// Addr is the address of the data source, and Sensitive lists the sensitive parts of Config. They
	// are not sent to the provider.
	Addr      addrs.AbsInstance
	Sensitive []cty.Path
}

// ReadDataResponse holds the object of a data source.
type ReadDataResponse struct {
	State cty.Value
	// Pending reports that parts of State are unknown because they depend on changes that are
	// planned in the same run and are applied before this plan. The data source is then read again
	// during apply. Only the built-in provider sets Pending.
	Pending bool
	// Hidden lists the parts of a pending State that the plan doesn't show. In expressions, the
	// values of these parts have no marks.
	Hidden []cty.Path
	// Sensitive lists sensitive parts of State, besides those of the schema and the configuration.
	Sensitive   []cty.Path
	Deferred    string
	Diagnostics tfdiags.Diagnostics
}

// OpenResponse holds an opened ephemeral object. If RenewAt is zero, the object needs no renewal.
type OpenResponse struct {
	Result      cty.Value
	Private     []byte
	RenewAt     time.Time
	Deferred    string
	Diagnostics tfdiags.Diagnostics
}

// RenewResponse holds the result of a renewal, with the time of the next one.
type RenewResponse struct {
	Private     []byte
	RenewAt     time.Time
	Diagnostics tfdiags.Diagnostics
}
