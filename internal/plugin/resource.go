package plugin

import (
	"context"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/plugin/tfplugin"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// ValidateResource implements providers.Interface.
func (c *client) ValidateResource(ctx context.Context, typ string, config cty.Value) tfdiags.Diagnostics {
	x, rs := c.resource(ctx, validateResource, typ)
	return x.validate(ctx, rs, typ, config, c.capabilities())
}

// validate makes one of the calls that validate a configuration, which all have the same form.
func (x *exchange) validate(
	ctx context.Context, rs *providers.ResourceSchema, typ string, config cty.Value, caps *tfplugin.ClientCapabilities,
) tfdiags.Diagnostics {
	if x.failed() {
		return x.diags
	}
	in := &tfplugin.ValidateConfigRequest{TypeName: typ, Config: x.encode(config, rs.Block.ImpliedType()),
		ClientCapabilities: caps}
	out := &tfplugin.ValidateConfigResponse{}
	if x.invoke(ctx, in, out) {
		x.addDiagnostics(out.Diagnostics)
	}
	return x.diags
}

// UpgradeResourceState implements providers.Interface.
func (c *client) UpgradeResourceState(
	ctx context.Context, req providers.UpgradeRequest,
) (resp providers.UpgradeResponse) {
	x, rs := c.resource(ctx, upgradeState, req.Type)
	if !x.failed() {
		in := &tfplugin.UpgradeResourceStateRequest{
			TypeName: req.Type, Version: req.Version,
			RawState: &tfplugin.RawState{Json: req.JSON, Flatmap: req.Flatmap},
		}
		out := &tfplugin.UpgradeResourceStateResponse{}
		if x.invoke(ctx, in, out) {
			x.addDiagnostics(out.Diagnostics)
			resp.Value = x.decodeObject(out.UpgradedState, rs.Block)
		}
	}
	resp.Diagnostics = x.diags
	return resp
}

// UpgradeResourceIdentity implements providers.Interface.
func (c *client) UpgradeResourceIdentity(
	ctx context.Context, req providers.UpgradeRequest,
) (resp providers.UpgradeResponse) {
	x, rs := c.resource(ctx, upgradeIdentity, req.Type)
	if !x.failed() && rs.Identity == nil {
		x.fail("Unknown identity", "The provider %s has no identity for the resource type %q.",
			c.launch.Provider.ForDisplay(), req.Type)
	}
	in := &tfplugin.UpgradeResourceIdentityRequest{TypeName: req.Type, Version: req.Version,
		RawIdentity: &tfplugin.RawState{Json: req.JSON}}
	out := &tfplugin.UpgradeResourceIdentityResponse{}
	if x.invoke(ctx, in, out) {
		x.addDiagnostics(out.Diagnostics)
		resp.Value = x.decodeIdentity(out.UpgradedIdentity, rs.Identity)
	}
	resp.Diagnostics = x.diags
	return resp
}

// ReadResource implements providers.Interface.
func (c *client) ReadResource(ctx context.Context, req providers.ReadRequest) (resp providers.ReadResponse) {
	x, rs := c.resource(ctx, readResource, req.Type)
	if x.failed() {
		return providers.ReadResponse{Diagnostics: x.diags}
	}
	ty := rs.Block.ImpliedType()
	in := &tfplugin.ReadResourceRequest{
		TypeName: req.Type, CurrentState: x.encode(req.Prior, ty), Private: req.Private, ProviderMeta: x.meta(req.Meta),
		ClientCapabilities: c.capabilities(), CurrentIdentity: x.encodeIdentity(req.Identity, rs.Identity),
	}
	out := &tfplugin.ReadResourceResponse{}
	if x.invoke(ctx, in, out) {
		x.addDiagnostics(out.Diagnostics)
		resp.State = x.decodeObject(out.NewState, rs.Block)
		resp.Identity = x.decodeIdentity(out.NewIdentity, rs.Identity)
		resp.Private, resp.Deferred = out.Private, deferred(out.Deferred)
	}
	resp.Diagnostics = x.diags
	return resp
}

// PlanResourceChange implements providers.Interface.
func (c *client) PlanResourceChange(ctx context.Context, req providers.PlanRequest) (resp providers.PlanResponse) {
	x, rs := c.resource(ctx, planChange, req.Type)
	if x.failed() {
		return providers.PlanResponse{Diagnostics: x.diags}
	}
	ty := rs.Block.ImpliedType()
	in := &tfplugin.PlanResourceChangeRequest{
		TypeName: req.Type, PriorState: x.encode(req.Prior, ty), ProposedNewState: x.encode(req.Proposed, ty),
		Config:       x.encode(req.Config, ty),
		PriorPrivate: req.Private, ProviderMeta: x.meta(req.Meta), ClientCapabilities: c.capabilities(),
		PriorIdentity: x.encodeIdentity(req.Identity, rs.Identity),
	}
	out := &tfplugin.PlanResourceChangeResponse{}
	if x.invoke(ctx, in, out) {
		x.addDiagnostics(out.Diagnostics)
		resp.Planned = x.decodeObject(out.PlannedState, rs.Block)
		resp.Identity = x.decodeIdentity(out.PlannedIdentity, rs.Identity)
		for _, path := range out.RequiresReplace {
			resp.RequiresReplace = append(resp.RequiresReplace, decodePath(path))
		}
		resp.Private, resp.LegacyTypes, resp.Deferred = out.PlannedPrivate, out.LegacyTypeSystem, deferred(out.Deferred)
	}
	resp.Diagnostics = x.diags
	return resp
}

// ApplyResourceChange implements providers.Interface.
func (c *client) ApplyResourceChange(ctx context.Context, req providers.ApplyRequest) (resp providers.ApplyResponse) {
	x, rs := c.resource(ctx, applyChange, req.Type)
	if x.failed() {
		return providers.ApplyResponse{Diagnostics: x.diags}
	}
	ty := rs.Block.ImpliedType()
	in := &tfplugin.ApplyResourceChangeRequest{
		TypeName: req.Type, PriorState: x.encode(req.Prior, ty), PlannedState: x.encode(req.Planned, ty),
		Config:         x.encode(req.Config, ty),
		PlannedPrivate: req.Private, ProviderMeta: x.meta(req.Meta),
		PlannedIdentity: x.encodeIdentity(req.Identity, rs.Identity),
	}
	out := &tfplugin.ApplyResourceChangeResponse{}
	var sent atomic.Bool
	resp.Unanswered = !x.invoke(noteSent(ctx, &sent), in, out)
	if resp.Unanswered {
		resp.Unanswered = sent.Load() && !x.unsupported
	} else {
		x.addDiagnostics(out.Diagnostics)
		if before := len(x.diags); !isMissing(out.NewState) {
			// An object that can't be decoded is treated as missing.
			if v := x.decodeObject(out.NewState, rs.Block); len(x.diags) == before || !v.IsNull() {
				resp.New = v
			} else {
				resp.Unanswered = true
			}
		}
		resp.Identity = x.decodeIdentity(out.NewIdentity, rs.Identity)
		resp.Private, resp.LegacyTypes = out.Private, out.LegacyTypeSystem
	}
	resp.Diagnostics = x.diags
	return resp
}

// ImportResourceState implements providers.Interface.
func (c *client) ImportResourceState(ctx context.Context, req providers.ImportRequest) (resp providers.ImportResponse) {
	x, rs := c.resource(ctx, importState, req.Type)
	if x.failed() {
		return providers.ImportResponse{Diagnostics: x.diags}
	}
	in := &tfplugin.ImportResourceStateRequest{
		TypeName: req.Type, Id: req.ID, ClientCapabilities: c.capabilities(),
		Identity: x.encodeIdentity(req.Identity, rs.Identity),
	}
	out := &tfplugin.ImportResourceStateResponse{}
	if !x.invoke(ctx, in, out) {
		return providers.ImportResponse{Diagnostics: x.diags}
	}
	x.addDiagnostics(out.Diagnostics)
	resp.Deferred = deferred(out.Deferred)
	for _, one := range out.ImportedResources {
		// The import of an object may return objects of other types, too.
		schema := x.find("resource type", one.TypeName,
			func(s *providers.Schema) providers.TypeTable { return s.Resources })
		if x.failed() {
			break
		}
		resp.Imported = append(resp.Imported, providers.ImportedObject{
			Type: one.TypeName, State: x.decodeObject(one.State, schema.Block), Private: one.Private,
			Identity: x.decodeIdentity(one.Identity, schema.Identity),
		})
	}
	resp.Diagnostics = x.diags
	return resp
}

// MoveResourceState implements providers.Interface.
func (c *client) MoveResourceState(ctx context.Context, req providers.MoveRequest) (resp providers.MoveResponse) {
	x, rs := c.resource(ctx, moveState, req.TargetType)
	in := &tfplugin.MoveResourceStateRequest{
		SourceProviderAddress: req.SourceProvider, SourceTypeName: req.SourceType,
		SourceSchemaVersion: req.SourceSchemaVersion,
		SourceState:         &tfplugin.RawState{Json: req.SourceJSON}, TargetTypeName: req.TargetType,
		SourcePrivate:               req.SourcePrivate,
		SourceIdentitySchemaVersion: req.SourceIdentityVersion,
	}
	if req.SourceIdentity != nil {
		in.SourceIdentity = &tfplugin.RawState{Json: req.SourceIdentity}
	}
	out := &tfplugin.MoveResourceStateResponse{}
	if x.invoke(ctx, in, out) {
		x.addDiagnostics(out.Diagnostics)
		resp.State = x.decodeObject(out.TargetState, rs.Block)
		resp.Identity = x.decodeIdentity(out.TargetIdentity, rs.Identity)
		resp.Private = out.TargetPrivate
	}
	resp.Diagnostics = x.diags
	return resp
}

// GenerateConfig implements providers.Interface.
func (c *client) GenerateConfig(ctx context.Context, typ string, state cty.Value) (cty.Value, tfdiags.Diagnostics) {
	x, rs := c.resource(ctx, generateConfig, typ)
	if x.failed() {
		return cty.NilVal, x.diags
	}
	ty, config := rs.Block.ImpliedType(), cty.NilVal
	out := &tfplugin.GenerateResourceConfigResponse{}
	if x.invoke(ctx, &tfplugin.GenerateResourceConfigRequest{TypeName: typ, State: x.encode(state, ty)}, out) {
		x.addDiagnostics(out.Diagnostics)
		if config = x.decode(out.Config, ty); !x.failed() && config.IsNull() { // no argument is set
			config = rs.Block.EmptyValue()
		}
	}
	return config, x.diags
}
