package ui

import (
	"encoding/json"
	"io"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
)

// WriteConfig writes the document of `show -config -json` with the whole module tree.
func WriteConfig(w io.Writer, cfg *configs.Config, schemas Schemas) error {
	s := newStream(w)
	writeConfig(s, cfg, schemas)
	return s.finish()
}

type configModule struct {
	Outputs   map[string]configOutput   `json:"outputs,omitempty"`
	Resources []*configResource         `json:"resources,omitempty"`
	Calls     map[string]*configCall    `json:"module_calls,omitempty"`
	Variables map[string]configVariable `json:"variables,omitempty"`
}

type configOutput struct {
	Sensitive   bool        `json:"sensitive,omitempty"`
	Ephemeral   bool        `json:"ephemeral,omitempty"`
	Deprecated  string      `json:"deprecated,omitempty"`
	Expression  *expression `json:"expression,omitempty"`
	DependsOn   []string    `json:"depends_on,omitempty"`
	Description string      `json:"description,omitempty"`
}

type configVariable struct {
	Type        json.RawMessage `json:"type,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
	Required    bool            `json:"required,omitempty"`
	Description string          `json:"description,omitempty"`
	Sensitive   bool            `json:"sensitive,omitempty"`
	Deprecated  string          `json:"deprecated,omitempty"`
	Ephemeral   bool            `json:"ephemeral,omitempty"`
}

type configResource struct {
	Address           string              `json:"address"`
	Mode              string              `json:"mode"`
	Type              string              `json:"type"`
	Name              string              `json:"name"`
	ProviderConfigKey string              `json:"provider_config_key"`
	Provisioners      []configProvisioner `json:"provisioners,omitempty"`
	Expressions       map[string]any      `json:"expressions,omitempty"`
	SchemaVersion     *int64              `json:"schema_version,omitempty"`
	Count             *expression         `json:"count_expression,omitempty"`
	ForEach           *expression         `json:"for_each_expression,omitempty"`
	DependsOn         []string            `json:"depends_on,omitempty"`
}

type configProvisioner struct {
	Type        string         `json:"type"`
	Expressions map[string]any `json:"expressions,omitempty"`
}

type configCall struct {
	Source            string         `json:"source,omitempty"`
	Expressions       map[string]any `json:"expressions,omitempty"`
	Count             *expression    `json:"count_expression,omitempty"`
	ForEach           *expression    `json:"for_each_expression,omitempty"`
	Module            *configModule  `json:"module,omitempty"`
	VersionConstraint string         `json:"version_constraint,omitempty"`
	DependsOn         []string       `json:"depends_on,omitempty"`
}

// configWriter builds the document of a module tree.
type configWriter struct {
	schemas Schemas
	shallow bool                      // whether to omit expressions, because there are no schemas
	entries map[string]*providerEntry // provider configurations by key
}

// repetition describes the expression of a count or for_each argument. It returns nil if there
// is nothing to describe.
func (c *configWriter) repetition(expr hcl.Expression) *expression {
	out := c.expr(expr)
	if out != nil && out.ConstantValue == nil && out.References == nil {
		return nil
	}
	return out
}

// expr describes an expression. It returns nil if expr is nil or expressions are omitted.
func (c *configWriter) expr(expr hcl.Expression) *expression {
	if c.shallow || expr == nil {
		return nil
	}
	return exprJSON(expr)
}

func writeConfig(s *stream, cfg *configs.Config, schemas Schemas) {
	c := &configWriter{schemas, schemas == nil, make(map[string]*providerEntry)}
	root := c.module(cfg, nil)
	s.object(func() {
		if len(c.entries) > 0 {
			s.field("provider_config", c.entries)
		}
		s.field("root_module", root)
	})
}

// module describes a module and its descendants. parent holds the provider keys of the module
// that calls it.
func (c *configWriter) module(cfg *configs.Config, parent providerKeys) *configModule {
	keys := c.providers(cfg, parent)
	m := cfg.Module
	out := &configModule{}
	for _, addr := range slices.SortedFunc(maps.Keys(m.Resources), addrs.Resource.Compare) {
		out.Resources = append(out.Resources, c.resource(m.Resources[addr], keys, cfg.Path))
	}
	for name, o := range m.Outputs {
		put(&out.Outputs, name, configOutput{
			Sensitive: o.Sensitive.Value, Ephemeral: o.Ephemeral.Value, Deprecated: o.Deprecated,
			Description: o.Description.Value,
			Expression:  c.expr(o.Expr), DependsOn: traversalTexts(o.DependsOn),
		})
	}
	for name, v := range m.Variables {
		put(&out.Variables, name, variableJSON(v))
	}
	for name, call := range m.Calls {
		put(&out.Calls, name, c.call(call, cfg.Children[name], keys))
	}
	return out
}

// put sets an entry of a map. It creates the map if necessary.
func put[V any](m *map[string]V, name string, v V) {
	if *m == nil {
		*m = make(map[string]V)
	}
	(*m)[name] = v
}

func variableJSON(v *configs.Variable) configVariable {
	out := configVariable{
		Required: v.Required(), Description: v.Description.Value, Sensitive: v.Sensitive.Value,
		Deprecated: v.Deprecated, Ephemeral: v.Ephemeral.Value,
	}
	if ty := v.Type.WithOptional; ty != cty.NilType && ty != cty.DynamicPseudoType {
		out.Type = typeJSON(ty)
	}
	if v.Default.Set {
		out.Default = valueJSON(v.Default.Value)
	}
	return out
}

func (c *configWriter) resource(r *configs.Resource, keys providerKeys, module addrs.Module) *configResource {
	out := &configResource{
		Address: r.Addr.String(), Mode: r.Addr.Mode.String(), Type: r.Addr.Type, Name: r.Addr.Name,
		ProviderConfigKey: keys.of(r.ProviderConfig(), module),
		Count:             c.repetition(r.Count), ForEach: c.repetition(r.ForEach),
		DependsOn: traversalTexts(r.DependsOn),
	}
	for _, p := range r.Provisioners {
		out.Provisioners = append(out.Provisioners, configProvisioner{p.Type, c.attributes(p.Config)})
	}
	if sch := c.schemas.Resource(r.ProviderAddr, r.Addr); sch != nil {
		out.SchemaVersion = &sch.Version
		out.Expressions = bodyJSON(r.Config, sch.Block)
	}
	return out
}

func (c *configWriter) call(call *configs.ModuleCall, child *configs.Config, keys providerKeys) *configCall {
	out := &configCall{
		Expressions: c.attributes(call.Config), DependsOn: traversalTexts(call.DependsOn),
		Count: c.repetition(call.Count), ForEach: c.repetition(call.ForEach),
	}
	if call.VersionExpr != nil {
		out.VersionConstraint = constantText(call.VersionExpr)
	}
	if child != nil {
		out.Source = child.SourceText
		out.Module = c.module(child, keys)
	} else if call.SourceExpr != nil {
		out.Source = constantText(call.SourceExpr)
	}
	return out
}

// constantText returns the value of an expression that is a constant string, or "" for any
// other expression.
func constantText(expr hcl.Expression) string {
	v, diags := expr.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String || !v.IsKnown() || v.IsNull() {
		return ""
	}
	return v.AsString()
}

// attributes describes a body that contains only attributes.
func (c *configWriter) attributes(body hcl.Body) map[string]any {
	if c.shallow || body == nil {
		return nil
	}
	var out map[string]any
	attrs, _ := body.JustAttributes()
	for name, attr := range attrs {
		put(&out, name, any(exprJSON(attr.Expr)))
	}
	return out
}

// WriteModule writes the document of `show -module=DIR -json`. It describes one module, and
// omits everything that requires schemas or child modules.
func WriteModule(w io.Writer, m *configs.Module) error {
	s := newStream(w)
	writeConfig(s, &configs.Config{Module: m}, nil)
	return s.finish()
}
