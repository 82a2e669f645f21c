package funcs

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/lang/coerce"
)

// convertCollections returns fn with collection parameters that accept any type, and converts the
// arguments itself. HCL would convert the arguments before the call. For a tuple, this takes time
// quadratic in the number of elements.
func convertCollections(fn function.Function) function.Function {
	params, variadic := fn.Params(), fn.VarParam()
	types := make([]cty.Type, len(params))
	found := false
	accept := func(p *function.Parameter) cty.Type {
		ty := p.Type
		if ty.IsCollectionType() {
			p.Type, found = cty.DynamicPseudoType, true
		}
		p.AllowUnknown, p.AllowNull, p.AllowMarked, p.AllowDynamicType = true, true, true, true
		return ty
	}
	for i := range params {
		types[i] = accept(&params[i])
	}
	if variadic != nil {
		types = append(types, accept(variadic))
	}
	if !found {
		return fn
	}
	convert := func(args []cty.Value) ([]cty.Value, error) {
		out := make([]cty.Value, len(args))
		for i, arg := range args {
			var err error
			out[i], err = coerce.Convert(arg, types[min(i, len(types)-1)])
			if err != nil {
				return nil, function.NewArgError(i, err)
			}
		}
		return out, nil
	}
	return function.New(&function.Spec{
		Description: fn.Description(),
		Params:      params,
		VarParam:    variadic,
		Type: func(args []cty.Value) (cty.Type, error) {
			converted, err := convert(args)
			if err != nil {
				return cty.NilType, err
			}
			return fn.ReturnTypeForValues(converted)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			converted, err := convert(args)
			if err != nil {
				return cty.NilVal, err
			}
			return fn.Call(converted)
		},
	})
}
