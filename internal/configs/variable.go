package configs

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang/coerce"
	"tofu/internal/lang/funcs"
	"tofu/internal/tfdiags"
)

// TypeConstraint is a variable's declared type.
type TypeConstraint struct {
	// Type is what values are converted to; cty.DynamicPseudoType where nothing was declared.
	Type cty.Type
	// WithOptional is the same type with its optional attributes marked, as conversion needs it.
	WithOptional cty.Type
	Defaults     *typeexpr.Defaults // nil: no optional attribute has a default
	// Literal: a value given as text is taken as it stands instead of being parsed as an expression.
	Literal bool
}

// Default is a variable's default value, converted already.
type Default struct {
	Set   bool
	Value cty.Value
}

var variableSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{
		{Name: "description"}, {Name: "default"}, {Name: "type"}, {Name: "sensitive"}, {Name: "deprecated"},
		{Name: "ephemeral"}, {Name: "nullable"}, {Name: "const"},
	},
	Blocks: []hcl.BlockHeaderSchema{{Type: "validation"}},
}

// metaArguments of module calls can't be names of variables: a caller could not set them.
var metaArguments = map[string]bool{
	"source": true, "version": true, "providers": true, "count": true, "for_each": true, "lifecycle": true, "depends_on": true, "locals": true,
	"provider": true, "_": true,
}

// decodeVariable reads a variable block.
func decodeVariable(d *decoder, block *hcl.Block) {
	v := &Variable{
		Name: block.Labels[0], Range: block.DefRange, labelRange: block.LabelRanges[0], Nullable: true,
		Type: TypeConstraint{Type: cty.DynamicPseudoType, WithOptional: cty.DynamicPseudoType, Literal: true},
	}
	content := d.content(block.Body, variableSchema)
	d.identifier(v.Name, block.LabelRanges[0], "variable name")
	if metaArguments[v.Name] {
		d.errorf(block.LabelRanges[0], "Invalid variable name", "The variable name %q is reserved: a module block gives it a meaning of its own.", v.Name)
	}
	attrs := content.Attributes
	if attr, ok := attrs["description"]; ok {
		v.DescriptionSet = d.constant(attr, &v.Description)
	}
	if attr, ok := attrs["type"]; ok {
		v.TypeRange, v.typeSet = attr.Expr.Range(), true
		v.Type = d.typeConstraint(attr.Expr)
	}
	d.variableFlags(v, attrs)
	if attr, ok := attrs["default"]; ok {
		d.variableDefault(v, attr)
	}
	for _, inner := range content.Blocks {
		if d.override {
			d.errorf(inner.DefRange, "Can't override validation blocks", "Override files cannot override \"validation\" blocks.")
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
		v.SensitiveSet = d.constant(attr, &v.Sensitive)
	}
	if attr, ok := attrs["ephemeral"]; ok {
		v.ephemeralSet = d.constant(attr, &v.Ephemeral)
	}
	if attr, ok := attrs["nullable"]; ok {
		v.nullableSet = d.constant(attr, &v.Nullable)
	}
	if attr, ok := attrs["const"]; ok {
		var fixed bool
		if d.constant(attr, &fixed) {
			v.Const = &fixed
		}
	}
	if attr, ok := attrs["deprecated"]; ok {
		v.Deprecated = d.deprecated(attr, v.labelRange, "Invalid `deprecated` value", "variable")
	}
}

// NoValue says that a required variable of the root module has no value and could not be asked for.
func (v *Variable) NoValue() tfdiags.Diagnostic {
	return tfdiags.Errorf("No value for required variable",
		"The variable %q of the root module has no default, so it needs a value: with -var, -var-file, a .tfvars file or the environment variable TF_VAR_%s.",
		v.Name, v.Name).At(v.Range)
}

// DeprecationText tells who gives a deprecated variable a value what to do instead.
func (v *Variable) DeprecationText() string {
	return fmt.Sprintf("The variable %q is deprecated:\n%s", v.Name, v.Deprecated)
}

// deprecated reads the text that tells users what to do instead. An empty one is refused at the place given.
func (d *decoder) deprecated(attr *hcl.Attribute, at hcl.Range, summary, what string) string {
	var text string
	if !d.constant(attr, &text) {
		return ""
	}
	if text == "" {
		d.errorf(at, summary, "The \"deprecated\" argument must not be empty: it tells users of this %s what to use instead.", what)
	}
	return text
}

// variableDefault reads the default, converted unless an override file may still give the type.
func (d *decoder) variableDefault(v *Variable, attr *hcl.Attribute) {
	val, diags := attr.Expr.Value(nil)
	d.addHCL(diags)
	v.defaultExpr = attr.Expr
	if diags.HasErrors() {
		val = cty.DynamicVal
	}
	v.Default = Default{Set: true, Value: val}
	// In an override file the type may still be that of the base, so the conversion waits for the merge.
	if d.override && !v.typeSet || diags.HasErrors() {
		return
	}
	d.add(UnusedAttributes(attr.Expr, v.Type.Type)...)
	if problem := v.convertDefault(attr.Expr.Range()); problem != nil {
		d.add(*problem)
	}
}

// convertDefault brings the default into the declared type.
func (v *Variable) convertDefault(at hcl.Range) *tfdiags.Diagnostic {
	val, err := v.Type.Convert(v.Default.Value)
	if err != nil {
		problem := tfdiags.Errorf("Invalid default value for variable",
			"The default doesn't fit the variable's type: %s.", tfdiags.FormatError(err)).At(at)
		v.Default.Value = cty.DynamicVal
		return &problem
	}
	v.Default.Value = val
	if val.IsNull() && !v.Nullable {
		problem := tfdiags.Errorf("Invalid default value for variable", "The default can't be null while nullable is false.").At(at)
		return &problem
	}
	return nil
}

// Convert brings a value into the type, optional attributes filled in.
func (t TypeConstraint) Convert(val cty.Value) (cty.Value, error) {
	if t.Defaults != nil && !val.IsNull() {
		val = t.Defaults.Apply(val)
	}
	return coerce.Convert(val, t.WithOptional)
}

// typeConstraint reads a type expression, with the forms of old configurations.
func (d *decoder) typeConstraint(expr hcl.Expression) TypeConstraint {
	any := TypeConstraint{Type: cty.DynamicPseudoType, WithOptional: cty.DynamicPseudoType}
	if tmpl, ok := expr.(*hclsyntax.TemplateExpr); ok && tmpl.IsStringLiteral() {
		val, _ := tmpl.Value(nil)
		d.errorf(expr.Range(), "Invalid quoted type constraints", "Type constraints are written without quotes. Remove the quotes around %q.", val.AsString())
		return any
	}
	ty, defaults, diags := funcs.ParseType(expr)
	if diags.HasErrors() {
		d.addHCL(diags)
		return any
	}
	return TypeConstraint{
		Type: ty.WithoutOptionalAttributesDeep(), WithOptional: ty, Defaults: defaults, Literal: ty.IsPrimitiveType(),
	}
}

// refersToItself makes sure that a validation is about its variable.
func (d *decoder) refersToItself(v *Variable, rule *CheckRule) bool {
	for _, traversal := range rule.Condition.Variables() {
		if traversal.RootName() == "var" && len(traversal) > 1 && addrs.StepName(traversal[1]) == v.Name {
			return true
		}
	}
	d.errorf(rule.Condition.Range(), "Invalid variable validation condition",
		"The condition doesn't refer to var.%s, so it says nothing about its value.", v.Name)
	return false
}
