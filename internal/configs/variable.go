package configs

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang/coerce"
	"tofu/internal/lang/funcs"
	"tofu/internal/tfdiags"
)

// TypeConstraint is the declared type of a variable.
type TypeConstraint struct {
	// Type is the type of the values; cty.DynamicPseudoType if not declared.
	Type cty.Type
	// WithOptional is the same type as Type, but with its optional attributes marked as optional.
	// Conversions use it.
	WithOptional cty.Type
	Defaults     *typeexpr.Defaults // nil if no optional attribute has a default
	// Literal reports whether the text of a value is the value itself, not an expression.
	Literal bool
}

var variableSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{
		{Name: "description"}, {Name: "default"}, {Name: "type"}, {Name: "sensitive"}, {Name: "deprecated"},
		{Name: "ephemeral"}, {Name: "nullable"}, {Name: "const"},
	},
	Blocks: []hcl.BlockHeaderSchema{{Type: "validation"}},
}

// metaArguments lists the meta-arguments of module calls. Variables can't have these names, because
// callers could not set them.
var metaArguments = map[string]bool{
	"source": true, "version": true, "providers": true, "count": true, "for_each": true, "lifecycle": true,
	"depends_on": true, "locals": true,
	"provider": true, "_": true,
}

func decodeVariable(d *decoder, block *hcl.Block) {
	v := &Variable{
		Name: block.Labels[0], Range: block.DefRange, labelRange: block.LabelRanges[0],
		Nullable: Opt[bool]{Value: true},
		Type:     TypeConstraint{Type: cty.DynamicPseudoType, WithOptional: cty.DynamicPseudoType, Literal: true},
	}
	content := d.content(block.Body, variableSchema)
	d.identifier(v.Name, block.LabelRanges[0], "variable name")
	if metaArguments[v.Name] {
		d.errorf(block.LabelRanges[0], "Invalid variable name",
			"The variable name %q is reserved, because it is a meta-argument of module blocks.", v.Name)
	}
	attrs := content.Attributes
	if attr, ok := attrs["description"]; ok {
		decodeOpt(d, attr, &v.Description)
	}
	if attr, ok := attrs["type"]; ok {
		v.TypeRange = attr.Expr.Range()
		v.Type = d.typeConstraint(attr.Expr)
	}
	d.variableFlags(v, attrs)
	if attr, ok := attrs["default"]; ok {
		d.variableDefault(v, attr)
	}
	for _, inner := range content.Blocks {
		if d.override {
			d.errorf(inner.DefRange, "Can't override validation blocks",
				"Override files cannot override \"validation\" blocks.")
			continue
		}
		rule, ok := d.checkRule(inner)
		if rule.Condition != nil && !d.refersToItself(v, rule) {
			continue
		}
		if ok {
			v.Validations = append(v.Validations, rule)
		}
	}
	d.file.variables = append(d.file.variables, v)
}

func (d *decoder) variableFlags(v *Variable, attrs hcl.Attributes) {
	if attr, ok := attrs["sensitive"]; ok {
		decodeOpt(d, attr, &v.Sensitive)
	}
	if attr, ok := attrs["ephemeral"]; ok {
		decodeOpt(d, attr, &v.Ephemeral)
	}
	if attr, ok := attrs["nullable"]; ok {
		decodeOpt(d, attr, &v.Nullable)
	}
	if attr, ok := attrs["const"]; ok {
		decodeOpt(d, attr, &v.Const)
	}
	if attr, ok := attrs["deprecated"]; ok {
		v.Deprecated = d.deprecated(attr, v.labelRange, "Invalid `deprecated` value", "variable")
	}
}

// typeSet reports whether the variable has a type argument.
func (v *Variable) typeSet() bool { return v.TypeRange != hcl.Range{} }

// NoValue returns the error for a required root module variable without a value.
func (v *Variable) NoValue() tfdiags.Diagnostic {
	return tfdiags.Errorf("No value for required variable",
		"The root module variable %q has no default, so it requires a value. Set it with -var, -var-file, a "+
			".tfvars file or the environment variable TF_VAR_%s.",
		v.Name, v.Name).At(v.Range)
}

// DeprecationWarning returns the warning for users who set the root module variable although it is
// deprecated.
func (v *Variable) DeprecationWarning() tfdiags.Diagnostic {
	return tfdiags.Warningf("Variable marked as deprecated", "%s", v.DeprecationText()).At(v.Range)
}

// DeprecationText returns the warning for users who set the variable although it is deprecated.
func (v *Variable) DeprecationText() string {
	return fmt.Sprintf("Variable %q is marked as deprecated with the following message:\n%s", v.Name, v.Deprecated)
}

// deprecated decodes a deprecation message. If it is empty, it adds an error at the given position.
func (d *decoder) deprecated(attr *hcl.Attribute, at hcl.Range, summary, what string) string {
	var text string
	if !d.constant(attr, &text) {
		return ""
	}
	if text == "" {
		d.errorf(at, summary,
			"The \"deprecated\" argument must not be empty. It must tell users of this %s what to use instead.", what)
	}
	return text
}

// variableDefault decodes the default. It converts the value unless an override file may change the
// type.
func (d *decoder) variableDefault(v *Variable, attr *hcl.Attribute) {
	val, diags := attr.Expr.Value(nil)
	d.addHCL(v.adviseLocal(diags, attr.Expr))
	v.defaultExpr = attr.Expr
	if diags.HasErrors() {
		val = cty.DynamicVal
	}
	v.Default = Opt[cty.Value]{Value: val, Set: true}
	// An override file without a type uses the base declaration's type, so the conversion happens
	// after the merge.
	if d.override && !v.typeSet() || diags.HasErrors() {
		return
	}
	UnusedAttributes(attr.Expr, v.Type.Type, d.warn)
	d.addError(v.convertDefault(attr.Expr.Range()))
}

// adviseLocal adds to errors about a default that isn't constant how to derive the value.
func (v *Variable) adviseLocal(diags hcl.Diagnostics, expr hcl.Expression) hcl.Diagnostics {
	derived := "EXPRESSION"
	if tr, err := hcl.AbsTraversalForExpr(expr); !err.HasErrors() {
		if steps, ok := addrs.StepsText(tr[1:]); ok {
			derived = tr.RootName() + steps
		}
	}
	out := slices.Clone(diags)
	for i, d := range diags {
		if d.Summary == "Variables not allowed" || d.Summary == "Function calls not allowed" {
			advised := *d
			advised.Detail += fmt.Sprintf(" A default is constant. Set it to null, and use a local value instead of the "+
				"variable:\n\n  locals {\n    %[1]s = var.%[1]s == null ? %s : var.%[1]s\n  }", v.Name, derived)
			out[i] = &advised
		}
	}
	return out
}

// convertDefault converts the default to the declared type.
func (v *Variable) convertDefault(at hcl.Range) error {
	val, err := v.Type.Convert(v.Default.Value)
	if err != nil {
		v.Default.Value = cty.DynamicVal
		return tfdiags.Errorf("Invalid default value for variable",
			"The default is not compatible with the variable's type: %s.", tfdiags.FormatError(err)).At(at)
	}
	v.Default.Value = val
	if val.IsNull() && !v.Nullable.Value {
		return tfdiags.Errorf("Invalid default value for variable",
			"The default can't be null while nullable is false.").At(at)
	}
	return nil
}

// Convert converts a value to the type and sets the defaults of optional attributes.
func (t TypeConstraint) Convert(val cty.Value) (cty.Value, error) {
	if t.Defaults != nil && !val.IsNull() {
		val = t.Defaults.Apply(val)
	}
	return coerce.Convert(val, t.WithOptional)
}

// typeConstraint decodes a type expression, including the forms of old configurations. It returns
// the constraint "any" after an error.
func (d *decoder) typeConstraint(expr hcl.Expression) TypeConstraint {
	anyType := TypeConstraint{Type: cty.DynamicPseudoType, WithOptional: cty.DynamicPseudoType}
	if tmpl, ok := expr.(*hclsyntax.TemplateExpr); ok && tmpl.IsStringLiteral() {
		val, _ := tmpl.Value(nil)
		d.errorf(expr.Range(), "Invalid quoted type constraints",
			"Type constraints must be written without quotes. Remove the quotes around %q.", val.AsString())
		return anyType
	}
	ty, defaults, diags := funcs.ParseType(expr)
	if diags.HasErrors() {
		d.addHCL(diags)
		return anyType
	}
	return TypeConstraint{
		Type: ty.WithoutOptionalAttributesDeep(), WithOptional: ty, Defaults: defaults, Literal: ty.IsPrimitiveType(),
	}
}

// refersToItself reports whether the condition refers to the variable it validates. If not, it adds
// an error.
func (d *decoder) refersToItself(v *Variable, rule *CheckRule) bool {
	for _, traversal := range rule.Condition.Variables() {
		if traversal.RootName() == "var" && len(traversal) > 1 && addrs.StepName(traversal[1]) == v.Name {
			return true
		}
	}
	d.errorf(rule.Condition.Range(), "Invalid variable validation condition",
		"The condition must refer to var.%s to validate its value.", v.Name)
	return false
}
