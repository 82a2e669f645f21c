package query

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/configs"
	"tofu/internal/configschema"
	"tofu/internal/lang/marks"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// defaultLimit is the greatest number of objects of a list block without the argument limit.
const defaultLimit = 100

// withLists returns a schema that also has data sources for list blocks.
func withLists(schema *providers.Schema) *providers.Schema {
	if schema == nil {
		return nil
	}
	out := *schema
	out.DataSources = listTable{schema.DataSources, schema}
	return &out
}

// listTable is a table of data sources that also has those that stand for list blocks.
type listTable struct {
	providers.TypeTable
	schema *providers.Schema
}

// Type implements providers.TypeTable.
func (t listTable) Type(name string) *providers.ResourceSchema {
	typ, isList := configs.ListedType(name)
	if !isList {
		if t.TypeTable == nil {
			return nil
		}
		return t.TypeTable.Type(name)
	}
	if t.schema.Lists == nil {
		return nil
	}
	list := t.schema.Lists.Type(typ)
	if list == nil {
		return nil
	}
	config := &configschema.NestedBlock{Nesting: configschema.NestingSingle, Block: configschema.Block{
		Attributes: list.Block.Attributes, BlockTypes: list.Block.BlockTypes, Description: list.Block.Description,
		Deprecated: list.Block.Deprecated, DeprecationMessage: list.Block.DeprecationMessage,
	}}
	for _, attr := range list.Block.Attributes {
		if attr.Required {
			config.MinItems, config.MaxItems = 1, 1
		}
	}
	return &providers.ResourceSchema{Invalid: list.Invalid, Block: &configschema.Block{
		Attributes: map[string]*configschema.Attribute{
			"include_resource": {Type: cty.Bool, Optional: true},
			"limit":            {Type: cty.Number, Optional: true},
			"data":             {Type: cty.DynamicPseudoType, Computed: true},
		},
		BlockTypes: map[string]*configschema.NestedBlock{"config": config},
	}}
}

// lister is a provider that lists objects when a data source is read that stands for a list block.
type lister struct {
	providers.Interface
	run *Run
}

// Schema implements providers.Interface.
func (l *lister) Schema(ctx context.Context) (*providers.Schema, tfdiags.Diagnostics) {
	schema, diags := l.Interface.Schema(ctx)
	return withLists(schema), diags
}

// ValidateDataSource implements providers.Interface.
func (l *lister) ValidateDataSource(ctx context.Context, typ string, config cty.Value) tfdiags.Diagnostics {
	listed, isList := configs.ListedType(typ)
	if !isList {
		return l.Interface.ValidateDataSource(ctx, typ, config)
	}
	req, diags := l.request(ctx, listed, config)
	if diags.HasErrors() {
		return diags
	}
	found := l.Interface.ValidateList(ctx, req)
	for i := range found {
		if len(found[i].Path) > 0 { // the provider knows only what is in the config block
			found[i].Path = append(cty.GetAttrPath("config"), found[i].Path...)
		}
	}
	return found
}

// request returns the request for a list block. config is the value of the whole block.
func (l *lister) request(
	ctx context.Context, typ string, config cty.Value,
) (req providers.ListRequest, diags tfdiags.Diagnostics) {
	schema, diags := l.Interface.Schema(ctx)
	if diags.HasErrors() {
		return req, diags
	}
	req = providers.ListRequest{Type: typ, Config: config.GetAttr("config"),
		IncludeObject: config.GetAttr("include_resource"), Limit: config.GetAttr("limit")}
	if req.Config.IsNull() {
		empty, err := schema.Lists.Type(typ).Block.CoerceValue(cty.EmptyObjectVal)
		diags = diags.AppendError(err)
		req.Config = empty
	}
	if req.IncludeObject.IsNull() {
		req.IncludeObject = cty.False
	}
	if l.run.Generate || l.run.Objects {
		req.IncludeObject = cty.True
	}
	if req.Limit.IsNull() {
		req.Limit = cty.NumberIntVal(defaultLimit)
	}
	if req.Limit.IsKnown() {
		if n := req.Limit.AsBigFloat(); !n.IsInt() || n.Sign() <= 0 {
			diags.Add(tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "Invalid limit",
				Detail: "limit is the greatest number of objects, so it must be a whole number greater than 0.",
				Path:   cty.GetAttrPath("limit")})
		}
	}
	return req, diags
}

// ReadDataSource implements providers.Interface.
func (l *lister) ReadDataSource(
	ctx context.Context, req providers.ReadDataRequest,
) (resp providers.ReadDataResponse) {
	typ, isList := configs.ListedType(req.Type)
	if !isList {
		return l.Interface.ReadDataSource(ctx, req)
	}
	ask, diags := l.request(ctx, typ, req.Config)
	schema, more := l.Interface.Schema(ctx)
	if diags = diags.Append(more...); diags.HasErrors() {
		return providers.ReadDataResponse{Diagnostics: diags}
	}
	config := states.MarkSensitive(ask.Config, below("config", req.Sensitive))
	list := List{Addr: configs.ListAddress(req.Addr.String()), Type: typ,
		Config: schema.Lists.Type(typ).Block.MarkSensitive(config, marks.Sensitive)}
	l.run.Started(list)
	limit, _ := ask.Limit.AsBigFloat().Int64()
	objects := &collector{run: l.run, list: list, limit: int(limit), schema: schema, provider: l.Interface,
		names: l.run.resourceNames(list)}
	if module := l.run.Config.Module; module.Resources[req.Addr.Resource] != nil {
		objects.reference = module.Resources[req.Addr.Resource].Provider.String()
	}
	diags = l.Interface.List(ctx, ask, func(o providers.ListedObject) bool { return objects.add(ctx, o) })
	diags = diags.Append(objects.diags...)
	if ctx.Err() != nil && !diags.HasErrors() {
		diags.Add(tfdiags.Errorf("Execution halted", "The query was interrupted, so not all objects were listed."))
	}
	if diags.HasErrors() {
		return providers.ReadDataResponse{Diagnostics: diags}
	}
	l.run.Finished(list, objects.total)
	values := req.Config.AsValueMap()
	values["data"] = cty.TupleVal(objects.values)
	return providers.ReadDataResponse{State: cty.ObjectVal(values), Sensitive: objects.sensitive, Diagnostics: diags}
}

// below returns those paths that begin with an attribute, without it.
func below(attribute string, paths []cty.Path) []cty.Path {
	var out []cty.Path
	for _, p := range paths {
		if len(p) > 0 && p[0] == (cty.GetAttrStep{Name: attribute}) {
			out = append(out, p[1:])
		}
	}
	return out
}

// collector collects the objects that a list block finds.
type collector struct {
	run       *Run
	list      List
	limit     int
	schema    *providers.Schema
	provider  providers.Interface
	reference string // the provider configuration of the list block
	names     string // what the names of generated resources begin with

	total     int
	values    []cty.Value
	sensitive []cty.Path // in the attribute data, which holds the values
	diags     tfdiags.Diagnostics
}

// add adds an object. It reports whether there may be more.
func (c *collector) add(ctx context.Context, o providers.ListedObject) bool {
	c.diags = c.diags.Append(o.Diagnostics.WithAddress(c.list.Addr)...)
	if o.Identity == cty.NilVal || o.Identity.IsNull() {
		return true
	}
	typ := c.schema.Resources.Type(c.list.Type)
	secrets := typ.Block.SensitivePaths(o.Object)
	found := &Object{List: c.list, Provider: c.reference, DisplayName: o.DisplayName, Identity: o.Identity,
		IdentityVersion: typ.IdentityVersion, Object: shown(o.Object, secrets)}
	at := cty.GetAttrPath("data").IndexInt(c.total).GetAttr("state")
	for _, p := range secrets {
		c.sensitive = append(c.sensitive, append(at.Copy(), p...))
	}
	if c.run.Generate && !o.Object.IsNull() {
		c.diags = c.diags.Append(c.generate(ctx, found, o.Object)...)
	}
	c.total++
	c.values = append(c.values, cty.ObjectVal(map[string]cty.Value{"display_name": cty.StringVal(o.DisplayName),
		"identity": o.Identity, "state": o.Object}))
	c.run.Found(found)
	return c.total < c.limit
}

// shown returns an object without its sensitive values, which are null instead.
func shown(object cty.Value, secrets []cty.Path) cty.Value {
	secret := cty.NewPathSet(secrets...)
	out, err := cty.Transform(object, func(path cty.Path, v cty.Value) (cty.Value, error) {
		if secret.Has(path) {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		return cty.NullVal(object.Type())
	}
	return out
}

// plainText writes a value of an identity without the quotes of a string.
func plainText(v cty.Value) string {
	if text, err := convert.Convert(v, cty.String); err == nil {
		return text.AsString()
	}
	raw, err := ctyjson.Marshal(v, v.Type())
	if err != nil || !json.Valid(raw) {
		return v.GoString()
	}
	return strings.TrimSpace(string(raw))
}
