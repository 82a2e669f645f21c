package prototest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Client calls a configured provider as an engine does.
type Client struct {
	T      testing.TB
	Server tfprotov6.ProviderServer

	schema *tfprotov6.GetProviderSchemaResponse
}

// Object is the data that an engine stores for a managed object.
type Object struct {
	Value    tftypes.Value
	Private  []byte
	Identity *tfprotov6.ResourceIdentityData
}

// New returns a client for a provider. It first configures the provider with config, a JSON object.
func New(t testing.TB, server tfprotov6.ProviderServer, config string) *Client {
	t.Helper()
	c := &Client{T: t, Server: server}
	var err error
	c.schema, err = server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	c.must(errorOf(c.schema.Diagnostics))
	typ := c.schema.Provider.ValueType()
	resp, err := server.ConfigureProvider(t.Context(),
		&tfprotov6.ConfigureProviderRequest{Config: c.dynamic(typ, c.value(typ, config))})
	c.must(err)
	c.must(errorOf(resp.Diagnostics))
	return c
}

func (c *Client) must(err error) {
	c.T.Helper()
	if err != nil {
		c.T.Fatal(err)
	}
}

// errorOf joins the error messages in diagnostics.
func errorOf(diags []*tfprotov6.Diagnostic) error {
	var errs []error
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			errs = append(errs, fmt.Errorf("%s: %s", d.Summary, d.Detail))
		}
	}
	return errors.Join(errs...)
}

// value parses a JSON object as a value of a type. Missing attributes and blocks are null.
func (c *Client) value(typ tftypes.Type, text string) tftypes.Value {
	c.T.Helper()
	var given map[string]json.RawMessage
	c.must(json.Unmarshal([]byte(text), &given))
	values := map[string]tftypes.Value{}
	for name, t := range typ.(tftypes.Object).AttributeTypes {
		values[name] = tftypes.NewValue(t, nil)
		if raw, ok := given[name]; ok {
			v, err := (tfprotov6.RawState{JSON: raw}).Unmarshal(t)
			c.must(err)
			values[name] = v
			delete(given, name)
		}
	}
	for name := range given {
		c.T.Fatalf("unknown attribute %s", name)
	}
	return tftypes.NewValue(typ, values)
}

func (c *Client) dynamic(typ tftypes.Type, v tftypes.Value) *tfprotov6.DynamicValue {
	c.T.Helper()
	d, err := tfprotov6.NewDynamicValue(typ, v)
	c.must(err)
	return &d
}

func (c *Client) resourceSchema(resourceType string) *tfprotov6.Schema {
	c.T.Helper()
	s, ok := c.schema.ResourceSchemas[resourceType]
	if !ok {
		c.T.Fatalf("unknown resource type %s", resourceType)
	}
	return s
}

// Apply validates, plans and applies a configuration. If prior is nil, it creates an object. It
// returns the resulting object even if there is an error; if nothing was applied, this is prior. A
// change that requires a replacement is an error.
func (c *Client) Apply(ctx context.Context, resourceType string, prior *Object, config string) (*Object, error) {
	c.T.Helper()
	schema := c.resourceSchema(resourceType)
	typ := schema.ValueType()
	cfg := c.value(typ, config)
	valid, err := c.Server.ValidateResourceConfig(ctx, &tfprotov6.ValidateResourceConfigRequest{
		TypeName: resourceType, Config: c.dynamic(typ, cfg),
		ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true},
	})
	if err = errors.Join(err, errorOf(valid.Diagnostics)); err != nil {
		return prior, err
	}
	before := &Object{Value: tftypes.NewValue(typ, nil)}
	if prior != nil {
		before = prior
	}
	plan, err := c.Server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: resourceType, Config: c.dynamic(typ, cfg), PriorState: c.dynamic(typ, before.Value),
		ProposedNewState: c.dynamic(typ, proposed(schema, cfg, before.Value)), PriorPrivate: before.Private,
		PriorIdentity: before.Identity,
	})
	if err = errors.Join(err, errorOf(plan.Diagnostics)); err != nil {
		return prior, err
	}
	if prior != nil && len(plan.RequiresReplace) > 0 {
		return prior, fmt.Errorf("must be replaced: %s", plan.RequiresReplace[0])
	}
	resp, err := c.Server.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: resourceType, Config: c.dynamic(typ, cfg), PriorState: c.dynamic(typ, before.Value),
		PlannedState: plan.PlannedState, PlannedPrivate: plan.PlannedPrivate, PlannedIdentity: plan.PlannedIdentity,
	})
	if err != nil {
		return prior, err
	}
	return c.object(typ, resp.NewState, resp.Private, resp.NewIdentity), errorOf(resp.Diagnostics)
}

// Destroy applies the deletion of an object without planning it first.
func (c *Client) Destroy(ctx context.Context, resourceType string, prior *Object) error {
	c.T.Helper()
	typ := c.Type(resourceType)
	null := c.dynamic(typ, tftypes.NewValue(typ, nil))
	resp, err := c.Server.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: resourceType, Config: null, PriorState: c.dynamic(typ, prior.Value), PlannedState: null,
		PlannedPrivate: prior.Private, PlannedIdentity: prior.Identity,
	})
	if err != nil {
		return err
	}
	return errorOf(resp.Diagnostics)
}

// Read refreshes an object. It returns nil if the object no longer exists.
func (c *Client) Read(ctx context.Context, resourceType string, prior *Object) (*Object, error) {
	c.T.Helper()
	typ := c.Type(resourceType)
	resp, err := c.Server.ReadResource(ctx, &tfprotov6.ReadResourceRequest{
		TypeName: resourceType, CurrentState: c.dynamic(typ, prior.Value), Private: prior.Private,
		CurrentIdentity: prior.Identity,
	})
	if err = errors.Join(err, errorOf(resp.Diagnostics)); err != nil {
		return nil, err
	}
	return c.object(typ, resp.NewState, resp.Private, resp.NewIdentity), nil
}

// Import imports an object by ID and reads it.
func (c *Client) Import(ctx context.Context, resourceType, id string) (*Object, error) {
	c.T.Helper()
	resp, err := c.Server.ImportResourceState(ctx,
		&tfprotov6.ImportResourceStateRequest{TypeName: resourceType, ID: id})
	if err = errors.Join(err, errorOf(resp.Diagnostics)); err != nil {
		return nil, err
	}
	r := resp.ImportedResources[0]
	return c.Read(ctx, resourceType, c.object(c.Type(resourceType), r.State, r.Private, r.Identity))
}

// Upgrade upgrades the stored attributes of an object from a schema version to the current one.
// stored is a JSON object.
func (c *Client) Upgrade(ctx context.Context, resourceType string, version int64, stored string) (*Object, error) {
	c.T.Helper()
	resp, err := c.Server.UpgradeResourceState(ctx, &tfprotov6.UpgradeResourceStateRequest{
		TypeName: resourceType, Version: version, RawState: &tfprotov6.RawState{JSON: []byte(stored)},
	})
	if err = errors.Join(err, errorOf(resp.Diagnostics)); err != nil {
		return nil, err
	}
	return c.object(c.Type(resourceType), resp.UpgradedState, nil, nil), nil
}

func (c *Client) object(typ tftypes.Type, d *tfprotov6.DynamicValue, private []byte,
	identity *tfprotov6.ResourceIdentityData) *Object {
	c.T.Helper()
	v, err := d.Unmarshal(typ)
	c.must(err)
	if v.IsNull() {
		return nil
	}
	return &Object{Value: v, Private: private, Identity: identity}
}

// Type returns the type of a resource type's objects.
func (c *Client) Type(resourceType string) tftypes.Type {
	c.T.Helper()
	return c.resourceSchema(resourceType).ValueType()
}
