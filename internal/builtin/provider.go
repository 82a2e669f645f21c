package builtin

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// Options are the dependencies of the provider.
type Options struct {
	RemoteState RemoteState
	// NewID returns the ID of a new object. If it is nil, IDs are random.
	NewID func() (string, error)
	// Store adds to terraform_data the block store. Without it, states and plans are those of programs
	// that don't know the block.
	Store bool
}

// New returns the provider.
func New(opts Options) providers.Interface {
	if opts.NewID == nil {
		opts.NewID = randomID
	}
	p := &provider{opts: opts, functions: functions()}
	descriptions := make(map[string]*providers.Function, len(p.functions))
	for name, f := range p.functions {
		descriptions[name] = f.description
	}
	p.schema = &providers.Schema{
		Provider:       configschema.Empty(),
		Resources:      providers.Types{dataType: {Block: dataSchema(opts.Store)}},
		DataSources:    providers.Types{remoteStateType: {Block: remoteStateSchema()}},
		Ephemerals:     providers.Types{},
		Functions:      descriptions,
		SchemaOptional: true,
		MoveResource:   true,
	}
	return p
}

type provider struct {
	providers.Basic
	opts      Options
	schema    *providers.Schema
	functions map[string]function
}

// unknown returns the error that the provider has no type with the name typ. kind is the word for
// such types, such as "data source".
func unknown(kind, typ string) tfdiags.Diagnostics {
	return tfdiags.Errorf("Unknown "+kind, "The built-in provider has no %s %q.", kind, typ).List()
}

const (
	kindResource  = "resource type"
	kindData      = "data source"
	kindEphemeral = "ephemeral resource type"
)

// Schema implements providers.Interface.
func (p *provider) Schema(context.Context) (*providers.Schema, tfdiags.Diagnostics) {
	return p.schema, nil
}

// ValidateProviderConfig implements providers.Interface: there is nothing to configure.
func (p *provider) ValidateProviderConfig(context.Context, cty.Value) tfdiags.Diagnostics { return nil }

// Configure implements providers.Interface.
func (p *provider) Configure(context.Context, cty.Value) tfdiags.Diagnostics { return nil }

// ValidateResource implements providers.Interface.
func (p *provider) ValidateResource(_ context.Context, typ string, config cty.Value) tfdiags.Diagnostics {
	if typ != dataType {
		return unknown(kindResource, typ)
	}
	return validateData(config)
}

// ValidateDataSource implements providers.Interface.
func (p *provider) ValidateDataSource(_ context.Context, typ string, config cty.Value) tfdiags.Diagnostics {
	if typ != remoteStateType {
		return unknown(kindData, typ)
	}
	return p.validateRemoteState(config)
}

// ValidateEphemeral implements providers.Interface.
func (p *provider) ValidateEphemeral(_ context.Context, typ string, _ cty.Value) tfdiags.Diagnostics {
	return unknown(kindEphemeral, typ)
}

// UpgradeResourceState implements providers.Interface.
func (p *provider) UpgradeResourceState(_ context.Context, req providers.UpgradeRequest) providers.UpgradeResponse {
	if req.Type != dataType {
		return providers.UpgradeResponse{Diagnostics: unknown(kindResource, req.Type)}
	}
	return p.upgradeData(req)
}

// UpgradeResourceIdentity implements providers.Interface: no type has an identity.
func (p *provider) UpgradeResourceIdentity(_ context.Context, req providers.UpgradeRequest) providers.UpgradeResponse {
	return providers.UpgradeResponse{Diagnostics: tfdiags.Errorf("Unknown identity",
		"The resource type %q of the built-in provider has no identity.", req.Type).List()}
}

// ReadResource implements providers.Interface. Objects exist only in the state, so there is nothing
// to read.
func (p *provider) ReadResource(_ context.Context, req providers.ReadRequest) providers.ReadResponse {
	if req.Type != dataType {
		return providers.ReadResponse{Diagnostics: unknown(kindResource, req.Type)}
	}
	return providers.ReadResponse{State: req.Prior, Private: req.Private}
}

// PlanResourceChange implements providers.Interface.
func (p *provider) PlanResourceChange(_ context.Context, req providers.PlanRequest) providers.PlanResponse {
	if req.Type != dataType {
		return providers.PlanResponse{Diagnostics: unknown(kindResource, req.Type)}
	}
	return planData(req)
}

// ApplyResourceChange implements providers.Interface.
func (p *provider) ApplyResourceChange(_ context.Context, req providers.ApplyRequest) providers.ApplyResponse {
	if req.Type != dataType {
		return providers.ApplyResponse{Diagnostics: unknown(kindResource, req.Type)}
	}
	return p.applyData(req)
}

// ImportResourceState implements providers.Interface.
func (p *provider) ImportResourceState(_ context.Context, req providers.ImportRequest) providers.ImportResponse {
	if req.Type != dataType {
		return providers.ImportResponse{Diagnostics: unknown(kindResource, req.Type)}
	}
	return p.importData(req)
}

// MoveResourceState implements providers.Interface.
func (p *provider) MoveResourceState(_ context.Context, req providers.MoveRequest) providers.MoveResponse {
	if req.TargetType != dataType {
		return providers.MoveResponse{Diagnostics: unknown(kindResource, req.TargetType)}
	}
	return p.moveData(req)
}

// ReadDataSource implements providers.Interface.
func (p *provider) ReadDataSource(ctx context.Context, req providers.ReadDataRequest) providers.ReadDataResponse {
	if req.Type != remoteStateType {
		return providers.ReadDataResponse{Diagnostics: unknown(kindData, req.Type)}
	}
	return p.readRemoteState(ctx, req.Addr, req.Config)
}

// OpenEphemeral implements providers.Interface.
func (p *provider) OpenEphemeral(_ context.Context, typ string, _ cty.Value) providers.OpenResponse {
	return providers.OpenResponse{Diagnostics: unknown(kindEphemeral, typ)}
}

// RenewEphemeral implements providers.Interface.
func (p *provider) RenewEphemeral(_ context.Context, typ string, _ []byte) providers.RenewResponse {
	return providers.RenewResponse{Diagnostics: unknown(kindEphemeral, typ)}
}

// CloseEphemeral implements providers.Interface.
func (p *provider) CloseEphemeral(_ context.Context, typ string, _ []byte) tfdiags.Diagnostics {
	return unknown(kindEphemeral, typ)
}

// AllowDeferral implements providers.Interface.
func (p *provider) AllowDeferral() {}

// Stop implements providers.Interface. The only call that can be slow is reading a state, which
// ends when its context is canceled.
func (p *provider) Stop(context.Context) error { return nil }

// Close implements providers.Interface.
func (p *provider) Close() error { return nil }
