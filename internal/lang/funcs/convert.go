package funcs

import (
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/lang/coerce"
)

// A typeConstraint is the second argument of convert.
type typeConstraint struct {
	ty       cty.Type // the type, including its optional attributes
	defaults *typeexpr.Defaults
}

// ParseType parses the type constraint of a variable or of a call of convert. It also accepts the
// old forms "list" and "map" without an element type.
func ParseType(expr hcl.Expression) (cty.Type, *typeexpr.Defaults, hcl.Diagnostics) {
	switch hcl.ExprAsKeyword(expr) {
	case "list":
		return cty.List(cty.DynamicPseudoType), nil, nil
	case "map":
		return cty.Map(cty.DynamicPseudoType), nil, nil
	}
	return typeexpr.TypeConstraintWithDefaults(expr)
}

// typeConstraintType is the type of parameters that accept a type constraint. HCL treats the words
// in it as references and function calls; see TypeWords.
var typeConstraintType = newTypeConstraintType()

func newTypeConstraintType() cty.Type {
	var ty cty.Type
	decode := func(expr hcl.Expression, _ *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
		constraint, defaults, diags := ParseType(expr)
		return cty.CapsuleVal(ty, &typeConstraint{constraint, defaults}), diags
	}
	ty = cty.CapsuleWithOps("type constraint", reflect.TypeFor[typeConstraint](), &cty.CapsuleOps{
		ExtensionData: func(key any) any {
			if key == customdecode.CustomExpressionDecoder {
				return customdecode.CustomExpressionDecoderFunc(decode)
			}
			return nil
		},
	})
	return ty
}

// convertFunc has a dynamic return type, because the type of a result with defaults depends on the
// value.
var convertFunc = function.New(&function.Spec{
	Description: "`convert` converts a value to a type constraint, with the same syntax as in a variable declaration.",
	Params: append(anyValue("The value."),
		function.Parameter{Name: "type", Type: typeConstraintType, Description: "The type constraint."}),
	Type: function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		want := args[1].EncapsulatedValue().(*typeConstraint)
		v := args[0]
		if want.defaults != nil && !v.IsNull() {
			v = want.defaults.Apply(v)
		}
		ret, err := coerce.Convert(v, want.ty)
		if err != nil {
			return cty.NilVal, function.NewArgError(0, conversionError(v, want.ty, err))
		}
		return ret, nil
	},
})
