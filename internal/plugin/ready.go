package plugin

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"tofu/internal/plugin/tfplugin"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// Schema implements providers.Interface.
func (c *client) Schema(ctx context.Context) (*providers.Schema, tfdiags.Diagnostics) {
	return c.ready(ctx)
}

// ready makes the provider ready for calls and returns its schema. A process must be asked for the
// schema even if the schema is known, unless the provider declares that this is optional.
func (c *client) ready(ctx context.Context) (*providers.Schema, tfdiags.Diagnostics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.schema != nil {
		return c.schema, nil
	}
	known := c.launch.Schema
	if known == nil {
		known = c.launch.cachedSchema()
	}
	if known == nil {
		schema, diags := c.fetchSchema(ctx)
		if schema != nil {
			c.schema = schema
		}
		return schema, diags
	}
	if !known.SchemaOptional {
		// The response is not needed. It is received as an empty message, so none of its fields are
		// decoded.
		if err := c.invoke(ctx, getSchema, &tfplugin.GetProviderSchemaRequest{}, &emptypb.Empty{}); err != nil {
			return nil, c.callError(getSchema, err).List()
		}
	}
	c.schema = known
	return known, nil
}

func (c *client) fetchSchema(ctx context.Context) (*providers.Schema, tfdiags.Diagnostics) {
	out := &tfplugin.GetProviderSchemaResponse{}
	if err := c.invoke(ctx, getSchema, &tfplugin.GetProviderSchemaRequest{}, out); err != nil {
		return nil, c.callError(getSchema, err).List()
	}
	x := &exchange{client: c, method: getSchema}
	x.addDiagnostics(out.Diagnostics)
	for name, raw := range out.ActionSchemas {
		action := &tfplugin.ActionSchema{}
		if err := proto.Unmarshal(raw, action); err != nil {
			x.fail("Invalid provider schema", "The provider %s returned an invalid schema for the action %q: %s.",
				c.launch.Provider.ForDisplay(), name, err)
		}
		out.ActionSchemas[name] = action.Schema
	}

	ids := &tfplugin.GetResourceIdentitySchemasResponse{}
	err := c.invoke(ctx, getIdentities, &tfplugin.GetResourceIdentitySchemasRequest{}, ids)
	// Unimplemented is not an error: the provider doesn't support identities.
	if err != nil && status.Code(err) != codes.Unimplemented {
		x.diags = x.diags.Append(c.callError(getIdentities, err))
	}
	x.addDiagnostics(ids.Diagnostics)
	if x.failed() {
		return nil, x.diags
	}
	schema, err := convertSchemas(c.version, out, ids.IdentitySchemas, nil)
	if err != nil {
		x.fail("Invalid provider schema", "The provider %s returned an invalid schema: %s.",
			c.launch.Provider.ForDisplay(), err)
		return nil, x.diags
	}
	if schema.SchemaOptional {
		c.launch.keepSchema(c.version, out, ids)
	}
	return schema, x.diags
}
