package funcs

import (
	"errors"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/lang/coerce"
)

// LimitOperators makes HCL's arithmetic operators return an error for numbers with too many digits.
// Without it, the result of "1e100000000" + 0 would be a number that takes minutes to format,
// because HCL converts operands itself. LimitOperators replaces the operators for the whole
// program: expressions in JSON are parsed inside HCL during evaluation, so their operators can't be
// replaced in the syntax tree. The program calls LimitOperators once, before it evaluates any
// expression.
func LimitOperators() {
	for _, op := range []*hclsyntax.Operation{hclsyntax.OpAdd, hclsyntax.OpSubtract, hclsyntax.OpMultiply,
		hclsyntax.OpDivide, hclsyntax.OpModulo, hclsyntax.OpNegate} {
		op.Impl = limitOperator(op.Impl)
	}
}

// limitOperator returns an operator that returns an error for numbers with too many digits.
func limitOperator(op function.Function) function.Function {
	return function.New(&function.Spec{
		Description:  op.Description(),
		Params:       op.Params(),
		Type:         function.StaticReturnType(cty.Number),
		RefineResult: notNull,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if slices.ContainsFunc(args, coerce.HasLongNumber) {
				return cty.NilVal, coerce.ErrLongNumber
			}
			v, err := op.Call(args)
			// cty's modulo operator panics if the dividend is infinite.
			if _, panicked := errors.AsType[function.PanicError](err); panicked {
				return cty.NilVal, errors.New("the result is undefined for infinity")
			}
			if err == nil && coerce.HasLongNumber(v) {
				return cty.NilVal, coerce.ErrLongNumber
			}
			return v, err
		},
	})
}
