package plugin

import (
	"context"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/plugin/tfplugin"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

func (c *client) dataSource(ctx context.Context, m method, typ string) (*exchange, *providers.ResourceSchema) {
	x := c.begin(ctx, m)
	return x, x.find("data source", typ, func(s *providers.Schema) providers.TypeTable { return s.DataSources })
}

func (c *client) ephemeral(ctx context.Context, m method, typ string) (*exchange, *providers.ResourceSchema) {
	x := c.begin(ctx, m)
	return x, x.find("ephemeral resource type", typ,
		func(s *providers.Schema) providers.TypeTable { return s.Ephemerals })
}

// ValidateDataSource implements providers.Interface.
func (c *client) ValidateDataSource(ctx context.Context, typ string, config cty.Value) tfdiags.Diagnostics {
	x, rs := c.dataSource(ctx, validateData, typ)
	return x.validate(ctx, rs, typ, config, nil)
}

// ValidateEphemeral implements providers.Interface.
func (c *client) ValidateEphemeral(ctx context.Context, typ string, config cty.Value) tfdiags.Diagnostics {
	x, rs := c.ephemeral(ctx, validateEphemeral, typ)
	return x.validate(ctx, rs, typ, config, nil)
}

// ReadDataSource implements providers.Interface.
func (c *client) ReadDataSource(ctx context.Context, req providers.ReadDataRequest) (resp providers.ReadDataResponse) {
	x, rs := c.dataSource(ctx, readData, req.Type)
	if x.failed() {
		return providers.ReadDataResponse{Diagnostics: x.diags}
	}
	ty := rs.Block.ImpliedType()
	in := &tfplugin.ReadDataSourceRequest{
		TypeName: req.Type, Config: x.encode(req.Config, ty), ProviderMeta: x.meta(req.Meta),
		ClientCapabilities: c.capabilities(),
	}
	out := &tfplugin.ReadDataSourceResponse{}
	if x.invoke(ctx, in, out) {
		x.addDiagnostics(out.Diagnostics)
		resp.State = x.decode(out.State, ty)
		resp.Deferred = deferred(out.Deferred)
	}
	resp.Diagnostics = x.diags
	return resp
}

// OpenEphemeral implements providers.Interface.
func (c *client) OpenEphemeral(ctx context.Context, typ string, config cty.Value) (resp providers.OpenResponse) {
	x, rs := c.ephemeral(ctx, openEphemeral, typ)
	if x.failed() {
		return providers.OpenResponse{Diagnostics: x.diags}
	}
	ty := rs.Block.ImpliedType()
	in := &tfplugin.OpenEphemeralResourceRequest{TypeName: typ, Config: x.encode(config, ty),
		ClientCapabilities: c.capabilities()}
	out := &tfplugin.OpenEphemeralResourceResponse{}
	if x.invoke(ctx, in, out) {
		x.addDiagnostics(out.Diagnostics)
		resp.Result = x.decode(out.Result, ty)
		resp.Private, resp.RenewAt, resp.Deferred = out.Private, decodeTime(out.RenewAt), deferred(out.Deferred)
	}
	resp.Diagnostics = x.diags
	return resp
}

// RenewEphemeral implements providers.Interface.
func (c *client) RenewEphemeral(ctx context.Context, typ string, private []byte) (resp providers.RenewResponse) {
	x, _ := c.ephemeral(ctx, renewEphemeral, typ)
	out := &tfplugin.RenewEphemeralResourceResponse{}
	if x.invoke(ctx, &tfplugin.RenewEphemeralResourceRequest{TypeName: typ, Private: private}, out) {
		x.addDiagnostics(out.Diagnostics)
		resp.Private, resp.RenewAt = out.Private, decodeTime(out.RenewAt)
	}
	resp.Diagnostics = x.diags
	return resp
}

// CloseEphemeral implements providers.Interface.
func (c *client) CloseEphemeral(ctx context.Context, typ string, private []byte) tfdiags.Diagnostics {
	x, _ := c.ephemeral(ctx, closeEphemeral, typ)
	out := &tfplugin.CloseEphemeralResourceResponse{}
	if x.invoke(ctx, &tfplugin.CloseEphemeralResourceRequest{TypeName: typ, Private: private}, out) {
		x.addDiagnostics(out.Diagnostics)
	}
	return x.diags
}

// Functions implements providers.Interface.
func (c *client) Functions(ctx context.Context) (map[string]*providers.Function, tfdiags.Diagnostics) {
	x := c.begin(ctx, getFunctions)
	out := &tfplugin.GetFunctionsResponse{}
	if !x.invoke(ctx, &tfplugin.GetFunctionsRequest{}, out) {
		return nil, x.diags
	}
	x.addDiagnostics(out.Diagnostics)
	functions, err := convertFunctions(out.Functions)
	if err != nil {
		x.fail("Invalid provider schema", "The provider %s returned invalid descriptions of its "+
			"functions: %s.", c.launch.Provider.ForDisplay(), err)
		return nil, x.diags
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.functions = functions
	return functions, x.diags
}

// function returns a function from the last list of functions that the provider has returned or, if
// the list doesn't contain it, from the schema. It returns nil if neither contains it.
func (c *client) function(schema *providers.Schema, name string) *providers.Function {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.functions[name]; f != nil {
		return f
	}
	return schema.Functions[name]
}

// CallFunction implements providers.Interface. The arguments must have been converted to the
// parameters' types.
func (c *client) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, error) {
	x := c.begin(ctx, callFunction)
	if x.failed() {
		return cty.NilVal, x.diags.Err()
	}
	f := c.function(x.schema, name)
	if f == nil {
		return cty.NilVal, fmt.Errorf("the provider %s has no function %q", c.launch.Provider.ForDisplay(), name)
	}
	if len(args) < len(f.Params) || len(args) > len(f.Params) && f.Variadic == nil {
		bound := ""
		if f.Variadic != nil {
			bound = "at least "
		}
		return cty.NilVal, fmt.Errorf("the number of arguments of function %q must be %s%d, not %d", name, bound,
			len(f.Params), len(args))
	}
	in := &tfplugin.CallFunctionRequest{Name: name}
	for i, arg := range args {
		in.Arguments = append(in.Arguments, x.encode(arg, f.Param(i).Type))
	}
	out := &tfplugin.CallFunctionResponse{}
	if !x.invoke(ctx, in, out) {
		return cty.NilVal, x.diags.Err()
	}
	if out.Error != nil {
		ferr := &providers.FunctionError{Text: out.Error.Text, Arg: -1}
		if out.Error.FunctionArgument != nil {
			ferr.Arg = int(*out.Error.FunctionArgument)
		}
		return cty.NilVal, ferr
	}
	result := x.decode(out.Result, f.Return)
	return result, x.diags.Err()
}
