package moduletest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// mockObject is the provider of one mocked resource instance. The instance's object consists of the
// configured values, and generated values for everything that a real provider would compute.
// mockObject implements providers.Interface.
type mockObject struct {
	providers.Basic
	addr   addrs.AbsInstance
	schema *providers.ResourceSchema
	values cty.Value           // values that are used instead of generated ones
	during configs.MockTime    // when they become known
	origin string              // where the values are declared, for messages
	diags  tfdiags.Diagnostics // errors in the schema, which every call returns

	planned func() // called when an action is planned
}

// object returns the object for a configuration, with computed values filled in. They are unknown if
// unknown is set.
func (m *mockObject) object(config cty.Value, unknown bool) (cty.Value, error) {
	if err := m.diags.Err(); err != nil {
		return cty.DynamicVal, err
	}
	g := &generator{seed: m.addr.String(), unknown: unknown}
	var v cty.Value
	err := checkValues(blockOf(m.schema), m.values, nil)
	if err == nil {
		v, err = g.block(blockOf(m.schema), config, m.values, nil)
	}
	if err != nil {
		text := tfdiags.FormatError(err)
		return cty.UnknownVal(blockOf(m.schema).ImpliedType()), tfdiags.Errorf("Invalid values for a mocked object",
			"The values of %s for %s are not valid: %s.", m.origin, m.addr, text)
	}
	return v, nil
}

// Schema implements providers.Interface.
func (m *mockObject) Schema(context.Context) (*providers.Schema, tfdiags.Diagnostics) {
	return &providers.Schema{}, nil
}

// ValidateProviderConfig implements providers.Interface.
func (m *mockObject) ValidateProviderConfig(context.Context, cty.Value) tfdiags.Diagnostics {
	return nil
}

// ValidateResource implements providers.Interface.
func (m *mockObject) ValidateResource(context.Context, string, cty.Value) tfdiags.Diagnostics {
	return m.diags
}

// ValidateDataSource implements providers.Interface.
func (m *mockObject) ValidateDataSource(context.Context, string, cty.Value) tfdiags.Diagnostics {
	return m.diags
}

// ValidateEphemeral implements providers.Interface.
func (m *mockObject) ValidateEphemeral(context.Context, string, cty.Value) tfdiags.Diagnostics {
	return m.diags
}

// Configure implements providers.Interface.
func (m *mockObject) Configure(context.Context, cty.Value) tfdiags.Diagnostics { return nil }

// UpgradeResourceState implements providers.Interface. Stored objects have the current schema
// version, because they were created by the same test.
func (m *mockObject) UpgradeResourceState(_ context.Context, req providers.UpgradeRequest) providers.UpgradeResponse {
	v, err := states.Unmarshal(req.JSON, blockOf(m.schema).ImpliedType())
	if err != nil {
		return providers.UpgradeResponse{Diagnostics: m.diags.AppendError(
			fmt.Errorf("reading the stored object: %w", err))}
	}
	return providers.UpgradeResponse{Value: v}
}

// UpgradeResourceIdentity implements providers.Interface.
func (m *mockObject) UpgradeResourceIdentity(
	_ context.Context, req providers.UpgradeRequest,
) providers.UpgradeResponse {
	if m.schema == nil || m.schema.Identity == nil {
		return providers.UpgradeResponse{}
	}
	v, err := states.Unmarshal(req.JSON, m.schema.Identity.ImpliedType())
	if err != nil {
		return providers.UpgradeResponse{Diagnostics: m.diags.AppendError(
			fmt.Errorf("reading the stored identity: %w", err))}
	}
	return providers.UpgradeResponse{Value: v}
}

// ReadResource implements providers.Interface. Mocked objects never change outside of the test.
func (m *mockObject) ReadResource(_ context.Context, req providers.ReadRequest) providers.ReadResponse {
	return providers.ReadResponse{State: req.Prior, Private: req.Private, Identity: req.Identity}
}

// PlanResourceChange implements providers.Interface. Planned objects are wholly known, unless
// override_during says otherwise.
func (m *mockObject) PlanResourceChange(_ context.Context, req providers.PlanRequest) providers.PlanResponse {
	if req.Proposed.IsNull() {
		return providers.PlanResponse{Planned: req.Proposed, Private: req.Private}
	}
	v, err := m.object(req.Config, m.during == configs.MockInApply && req.Prior.IsNull())
	return providers.PlanResponse{Planned: v, Identity: req.Identity, Diagnostics: tfdiags.FromError(err)}
}

// ApplyResourceChange implements providers.Interface.
func (m *mockObject) ApplyResourceChange(_ context.Context, req providers.ApplyRequest) providers.ApplyResponse {
	if req.Planned.IsNull() {
		return providers.ApplyResponse{New: req.Planned}
	}
	v, err := m.object(req.Config, false)
	return providers.ApplyResponse{New: v, Identity: req.Identity, Diagnostics: tfdiags.FromError(err)}
}

// ImportResourceState implements providers.Interface. It succeeds for any ID.
func (m *mockObject) ImportResourceState(_ context.Context, req providers.ImportRequest) providers.ImportResponse {
	block := blockOf(m.schema)
	v, err := m.object(block.EmptyValue(), false)
	if err != nil {
		return providers.ImportResponse{Diagnostics: tfdiags.FromError(err)}
	}
	if id := block.Attributes["id"]; id != nil && id.Type == cty.String && req.ID != "" {
		attrs := v.AsValueMap()
		attrs["id"] = cty.StringVal(req.ID)
		v = cty.ObjectVal(attrs)
	}
	return providers.ImportResponse{Imported: []providers.ImportedObject{{Type: req.Type, State: v,
		Identity: req.Identity}}}
}

// MoveResourceState implements providers.Interface. It doesn't convert the object of the other
// type, but generates a new object.
func (m *mockObject) MoveResourceState(context.Context, providers.MoveRequest) providers.MoveResponse {
	v, err := m.object(blockOf(m.schema).EmptyValue(), false)
	return providers.MoveResponse{State: v, Diagnostics: tfdiags.FromError(err)}
}

// ReadDataSource implements providers.Interface.
func (m *mockObject) ReadDataSource(_ context.Context, req providers.ReadDataRequest) providers.ReadDataResponse {
	v, err := m.object(req.Config, false)
	return providers.ReadDataResponse{State: v, Diagnostics: tfdiags.FromError(err)}
}

// OpenEphemeral implements providers.Interface.
func (m *mockObject) OpenEphemeral(_ context.Context, _ string, config cty.Value) providers.OpenResponse {
	v, err := m.object(config, false)
	return providers.OpenResponse{Result: v, RenewAt: time.Time{}, Diagnostics: tfdiags.FromError(err)}
}

// RenewEphemeral implements providers.Interface.
func (m *mockObject) RenewEphemeral(context.Context, string, []byte) providers.RenewResponse {
	return providers.RenewResponse{}
}

// CloseEphemeral implements providers.Interface.
func (m *mockObject) CloseEphemeral(context.Context, string, []byte) tfdiags.Diagnostics { return nil }

// ValidateAction implements providers.Interface.
func (m *mockObject) ValidateAction(context.Context, string, cty.Value) tfdiags.Diagnostics {
	return m.diags
}

// PlanAction implements providers.Interface.
func (m *mockObject) PlanAction(context.Context, string, cty.Value) providers.PlanActionResponse {
	m.planned()
	return providers.PlanActionResponse{Diagnostics: m.diags}
}

// InvokeAction implements providers.Interface. Nothing happens.
func (m *mockObject) InvokeAction(context.Context, string, cty.Value, func(string)) providers.InvokeResponse {
	return providers.InvokeResponse{Diagnostics: m.diags}
}

// Functions implements providers.Interface.
func (m *mockObject) Functions(context.Context) (map[string]*providers.Function, tfdiags.Diagnostics) {
	return nil, nil
}

// CallFunction implements providers.Interface. It is never called, because functions are not
// mocked.
func (m *mockObject) CallFunction(_ context.Context, name string, _ []cty.Value) (cty.Value, error) {
	return cty.NilVal, errors.New("a mocked object has no function " + name)
}

// AllowDeferral implements providers.Interface.
func (m *mockObject) AllowDeferral() {}

// Stop implements providers.Interface.
func (m *mockObject) Stop(context.Context) error { return nil }

// Close implements providers.Interface.
func (m *mockObject) Close() error { return nil }
