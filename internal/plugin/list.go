package plugin

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/plugin/tfplugin"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

func (c *client) listType(ctx context.Context, m method, typ string) (*exchange, *providers.ResourceSchema) {
	x := c.begin(ctx, m)
	return x, x.find("list resource", typ, func(s *providers.Schema) providers.TypeTable { return s.Lists })
}

// ValidateList implements providers.Interface.
func (c *client) ValidateList(ctx context.Context, req providers.ListRequest) tfdiags.Diagnostics {
	x, rs := c.listType(ctx, validateList, req.Type)
	if x.failed() {
		return x.diags
	}
	in := &tfplugin.ValidateListResourceConfigRequest{
		TypeName: req.Type, Config: x.encode(req.Config, rs.Block.ImpliedType()),
		IncludeResourceObject: x.encode(req.IncludeObject, cty.Bool), Limit: x.encode(req.Limit, cty.Number),
	}
	out := &tfplugin.ValidateConfigResponse{}
	if x.invoke(ctx, in, out) {
		x.addDiagnostics(out.Diagnostics)
	}
	return x.diags
}

// List implements providers.Interface.
func (c *client) List(
	ctx context.Context, req providers.ListRequest, found func(providers.ListedObject) bool,
) tfdiags.Diagnostics {
	x, rs := c.listType(ctx, listResource, req.Type)
	object := x.find("resource type", req.Type, func(s *providers.Schema) providers.TypeTable { return s.Resources })
	if x.failed() {
		return x.diags
	}
	limit, _ := req.Limit.AsBigFloat().Int64()
	in := &tfplugin.ListResourceRequest{
		TypeName: req.Type, Config: x.encode(req.Config, rs.Block.ImpliedType()),
		IncludeResourceObject: req.IncludeObject.True(), Limit: limit,
	}
	ty := object.Block.ImpliedType()
	receive(ctx, x, in, func() *tfplugin.ListResourceEvent { return &tfplugin.ListResourceEvent{} },
		func(event *tfplugin.ListResourceEvent) bool {
			// An error concerns one object; the others are still listed.
			one := &exchange{client: c, method: listResource, schema: x.schema}
			one.addDiagnostics(event.Diagnostic)
			out := providers.ListedObject{DisplayName: event.DisplayName, Object: one.decode(event.ResourceObject, ty),
				Identity: one.decodeIdentity(event.Identity, object.Identity)}
			if out.Identity == cty.NilVal && !one.failed() {
				one.fail("Provider produced invalid object", "The provider %s listed an object of type %s without "+
					"an identity.\n\n%s", c.launch.Provider.ForDisplay(), req.Type, providers.BugNotice)
			}
			out.Diagnostics = one.diags
			return found(out)
		})
	return x.diags
}
