package providers

import (
	"context"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs/configschema"
	"tofu/internal/tfdiags"
)

// BugNotice ends complaints about what no provider may do.
const BugNotice = "This is a bug in the provider: please report it to its makers."

// Interface is a running provider. It is wide because it is a protocol; nothing else in the program
// is.
type Interface interface {
	// Schema gives the provider's schema; it is fetched once and shared.
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

	ReadDataSource(ctx context.Context, req ReadDataRequest) ReadDataResponse

	OpenEphemeral(ctx context.Context, typ string, config cty.Value) OpenResponse
	RenewEphemeral(ctx context.Context, typ string, private []byte) RenewResponse
	CloseEphemeral(ctx context.Context, typ string, private []byte) tfdiags.Diagnostics

	// Functions lists the functions that the provider has as it is configured now.
	Functions(ctx context.Context) (map[string]*Function, tfdiags.Diagnostics)
	// CallFunction calls one. A *FunctionError says which argument is wrong.
	CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, error)

	// Stop asks the provider to end what it is doing soon; it returns at once.
	Stop(ctx context.Context) error
	// Close ends the provider. No other method may be called after it.
	Close() error
}

// Schema is everything a provider says about itself.
type Schema struct {
	Provider     *configschema.Block
	ProviderMeta *configschema.Block // nil: none
	Resources    TypeTable
	DataSources  TypeTable
	Ephemerals   TypeTable
	Functions    map[string]*Function

	// PlanDestroy: the provider wants to plan destruction too.
	PlanDestroy bool
	// SchemaOptional: the schema call may be left out when the schema is known already.
	SchemaOptional bool
	// MoveResource: the provider can take over objects of other resource types.
	MoveResource bool
}

// Table returns the table of a mode; it is nil if there is none.
func (s *Schema) Table(mode addrs.ResourceMode) TypeTable {
	switch mode {
	case addrs.Managed:
		return s.Resources
	case addrs.Data:
		return s.DataSources
	case addrs.Ephemeral:
		return s.Ephemerals
	}
	return nil
}

// TypeTable gives the schemas of resource types by name; a type may be decoded on first use. The
// plugin client and the built-in provider each have one.
type TypeTable interface {
	// Type gives the schema of a type, nil when the provider has no such type.
	Type(name string) *ResourceSchema
	// Names lists the types, sorted.
	Names() []string
}

// Types is the TypeTable of schemas that are all at hand.
type Types map[string]*ResourceSchema

// ResourceSchema is the schema of one resource type, data source or ephemeral resource type.
type ResourceSchema struct {
	Version         int64
	Block           *configschema.Block
	Identity        *configschema.Object // nil: the type has no identity
	IdentityVersion int64
	// Invalid says why the schema can't be used; nil when it can. Block is empty then.
	Invalid error
}

// Function describes a provider-defined function.
type Function struct {
	Params             []FunctionParam
	Variadic           *FunctionParam // nil: not variadic
	Return             cty.Type
	Summary            string
	Description        string
	DescriptionKind    configschema.StringKind
	DeprecationMessage string
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

// FunctionError is a function's own complaint; Arg is the argument's position, -1 for none.
type FunctionError struct {
	Text string
	Arg  int
}

func (e *FunctionError) Error() string { return e.Text }

// UpgradeRequest asks to bring a stored object or identity to the current schema.
type UpgradeRequest struct {
	Type    string
	Version int64
	JSON    []byte            // stored form; nil when Flatmap is set
	Flatmap map[string]string // form of states before version 4
}

// UpgradeResponse carries the upgraded value.
type UpgradeResponse struct {
	Value       cty.Value
	Diagnostics tfdiags.Diagnostics
}

// ReadRequest asks for an object as it is now.
type ReadRequest struct {
	Type     string
	Prior    cty.Value
	Private  []byte
	Meta     cty.Value // provider_meta; cty.NilVal for none
	Identity cty.Value // cty.NilVal for none
}

// ReadResponse carries what was read; a null State means that the object is gone.
type ReadResponse struct {
	State       cty.Value
	Private     []byte
	Identity    cty.Value
	Deferred    string // the provider's reason for not answering yet; empty for an answer
	Diagnostics tfdiags.Diagnostics
}

// PlanRequest asks what applying a configuration would do.
type PlanRequest struct {
	Type     string
	Prior    cty.Value // null: create
	Proposed cty.Value // null: destroy
	Config   cty.Value
	Private  []byte
	Meta     cty.Value
	Identity cty.Value
}

// PlanResponse carries the planned object.
type PlanResponse struct {
	Planned         cty.Value
	RequiresReplace []cty.Path
	Private         []byte
	Identity        cty.Value
	LegacyTypes     bool // the provider's SDK can't follow the planning rules exactly
	Deferred        string
	Diagnostics     tfdiags.Diagnostics
}

// ApplyRequest asks to make a planned change real.
type ApplyRequest struct {
	Type     string
	Prior    cty.Value
	Planned  cty.Value // null: destroy
	Config   cty.Value
	Private  []byte // planned private data
	Meta     cty.Value
	Identity cty.Value // planned identity
}

// ApplyResponse carries the object as it is now, also after an error.
type ApplyResponse struct {
	New         cty.Value // cty.NilVal: the provider said nothing
	Private     []byte
	Identity    cty.Value
	LegacyTypes bool
	Diagnostics tfdiags.Diagnostics
}

// ImportRequest asks for an existing object; one of ID and Identity is set.
type ImportRequest struct {
	Type     string
	ID       string
	Identity cty.Value
}

// ImportResponse carries the objects found.
type ImportResponse struct {
	Imported    []ImportedObject
	Deferred    string
	Diagnostics tfdiags.Diagnostics
}

// ImportedObject is one object that an import found.
type ImportedObject struct {
	Type     string
	State    cty.Value
	Private  []byte
	Identity cty.Value
}

// MoveRequest asks to take over an object of another resource type.
type MoveRequest struct {
	SourceProvider      string // full address
	SourceType          string
	SourceSchemaVersion int64
	SourceJSON          []byte
	SourcePrivate       []byte
	SourceIdentity      []byte // JSON; nil for none

	SourceIdentityVersion int64
	TargetType            string
}

// MoveResponse carries the object in its new type.
type MoveResponse struct {
	State       cty.Value
	Private     []byte
	Identity    cty.Value
	Diagnostics tfdiags.Diagnostics
}

// ReadDataRequest asks for a data source's result.
type ReadDataRequest struct {
	Type   string
	Config cty.Value
	Meta   cty.Value
	// Addr is which data source it is; it stays within the program.
	Addr addrs.AbsInstance
}

// ReadDataResponse carries the result.
type ReadDataResponse struct {
	State       cty.Value
	Deferred    string
	Diagnostics tfdiags.Diagnostics
}

// OpenResponse carries an opened ephemeral object; a zero RenewAt means that no renewal is due.
type OpenResponse struct {
	Result      cty.Value
	Private     []byte
	RenewAt     time.Time
	Deferred    string
	Diagnostics tfdiags.Diagnostics
}

// RenewResponse says when the next renewal is due.
type RenewResponse struct {
	Private     []byte
	RenewAt     time.Time
	Diagnostics tfdiags.Diagnostics
}
