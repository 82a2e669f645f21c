package configs

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// DeprecatedVariable, as a Diagnostic's Extra, marks the warning that a call sets a variable which its module wants to get rid of.
type DeprecatedVariable struct {
	Module addrs.Module // the called module
	Source string       // where it comes from, for users who only care about their own modules
}

// ModuleSource is where the module that deprecates comes from, by which users choose which deprecations they want to see.
func (d DeprecatedVariable) ModuleSource() string { return d.Source }

// CheckArguments compares the arguments of every module call with the variables of the called module. It is apart from loading
// because commands that never evaluate calls accept a tree in which they don't agree.
func (c *Config) CheckArguments() tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	for cfg := range c.AllModules() {
		for _, name := range slices.Sorted(maps.Keys(cfg.Children)) {
			diags = append(diags, cfg.Children[name].checkArguments()...)
		}
	}
	return diags
}

func (c *Config) checkArguments() tfdiags.Diagnostics {
	content, hclDiags := c.Call.Config.Content(c.Module.arguments)
	diags := tfdiags.Diagnostics(nil).Append(hclDiags)
	if diags.HasErrors() {
		return diags
	}
	for _, attr := range sortedAttributes(content.Attributes) {
		v := c.Module.Variables[attr.Name]
		diags = append(diags, UnusedAttributes(attr.Expr, v.Type.Type)...)
		if v.Deprecated != "" {
			diags = append(diags, tfdiags.Diagnostic{
				Severity: tfdiags.Warning, Summary: "Variable marked as deprecated by the module author",
				Detail:  fmt.Sprintf("Variable %q is marked as deprecated with the following message:\n%s", v.Name, v.Deprecated),
				Subject: &attr.Range, Extra: DeprecatedVariable{Module: c.Path, Source: c.Source},
			})
		}
	}
	return diags
}

// argumentSchema is what a call of the module may hold besides meta-arguments: one argument per variable.
func (m *Module) argumentSchema() *hcl.BodySchema {
	schema := &hcl.BodySchema{}
	for _, name := range slices.Sorted(maps.Keys(m.Variables)) {
		schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: name, Required: m.Variables[name].Required()})
	}
	return schema
}
