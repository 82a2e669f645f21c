package builtin

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/nesting"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// function is a function with its description. It takes one known argument that is not null.
type function struct {
	description *providers.Function
	call        func(arg cty.Value) (cty.Value, error)
}

func functions() map[string]function {
	// The summaries are part of the schema document, which programs compare, so they are the same
	// as OpenTofu's. The descriptions are for users.
	describe := func(name, summary, what string, param providers.FunctionParam, ret cty.Type) *providers.Function {
		return &providers.Function{
			Params: []providers.FunctionParam{param}, Return: ret, Summary: summary,
			Description: "provider::terraform::" + name + " " + what,
		}
	}
	return map[string]function{
		"decode_tfvars": {describe("decode_tfvars", "Decode a TFVars file content into an object",
			"reads the content of a variables file and returns its values as an object",
			providers.FunctionParam{Name: "content", Type: cty.String, Description: "content of a .tfvars file"},
			cty.DynamicPseudoType), decodeTFVars},
		"encode_tfvars": {describe("encode_tfvars",
			"Encode an object into a string with the same format as a TFVars file",
			"writes an object as the content of a variables file",
			providers.FunctionParam{Name: "input", Type: cty.DynamicPseudoType,
				Description: "object or map whose keys are names of variables"},
			cty.String), encodeTFVars},
		"encode_expr": {describe("encode_expr", "Takes an arbitrary expression and converts it into a string "+
			"with valid OpenTofu syntax",
			"writes any value as an expression of the configuration language",
			providers.FunctionParam{Name: "expr", Type: cty.DynamicPseudoType, Description: "value to write"},
			cty.String), encodeExpr},
	}
}

// Functions implements providers.Interface.
func (p *provider) Functions(context.Context) (map[string]*providers.Function, tfdiags.Diagnostics) {
	return p.schema.Functions, nil
}

// CallFunction implements providers.Interface.
func (p *provider) CallFunction(_ context.Context, name string, args []cty.Value) (cty.Value, error) {
	f, ok := p.functions[name]
	switch {
	case !ok:
		return cty.NilVal, fmt.Errorf("the built-in provider has no function %q", name)
	case len(args) != 1:
		return cty.NilVal, fmt.Errorf("function %q takes one argument, not %d", name, len(args))
	case args[0].IsNull():
		return cty.NilVal, argumentError("must not be null")
	}
	return f.call(args[0])
}

// argumentError returns an error about the function's only argument.
func argumentError(format string, args ...any) error {
	return &providers.FunctionError{Text: fmt.Sprintf(format, args...), Arg: 0}
}

func decodeTFVars(content cty.Value) (cty.Value, error) {
	file, diags := nesting.Parse("", []byte(content.AsString()))
	if diags.HasErrors() {
		return cty.NilVal, badTFVars(diags)
	}
	attrs, diags := file.Body.JustAttributes()
	if diags.HasErrors() {
		return cty.NilVal, badTFVars(diags)
	}
	vals := make(map[string]cty.Value, len(attrs))
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		v, diags := attrs[name].Expr.Value(nil)
		if diags.HasErrors() {
			return cty.NilVal, badTFVars(diags)
		}
		vals[name] = v
	}
	return cty.ObjectVal(vals), nil
}

// badTFVars returns the first error in diags. The error includes the line but not the file name,
// because the text is not from a file.
func badTFVars(diags hcl.Diagnostics) error {
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			line := 1
			if d.Subject != nil {
				line = d.Subject.Start.Line
			}
			return argumentError("must be the content of a variables file, but line %d is not valid: %s; %s", line,
				d.Summary, strings.TrimSuffix(d.Detail, "."))
		}
	}
	return argumentError("must be the content of a variables file")
}

func encodeTFVars(input cty.Value) (cty.Value, error) {
	if ty := input.Type(); !ty.IsObjectType() && !ty.IsMapType() {
		return cty.NilVal, argumentError("must be an object or a map, not %s", ty.FriendlyName())
	}
	file := hclwrite.NewEmptyFile()
	vals := input.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(vals)) {
		if !hclsyntax.ValidIdentifier(name) {
			return cty.NilVal, argumentError("the key %q is not a valid identifier", name)
		}
		file.Body().SetAttributeValue(name, vals[name])
	}
	return cty.StringVal(string(file.Bytes())), nil
}

func encodeExpr(expr cty.Value) (cty.Value, error) {
	text := hclwrite.Format(hclwrite.TokensForValue(expr).Bytes())
	return cty.StringVal(string(bytes.TrimSpace(text))), nil
}
