package funcs

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// distinctByHash is like stdlib.DistinctFunc, but doesn't compare each element with all others.
var distinctByHash = function.New(&function.Spec{
	Params:       stdlib.DistinctFunc.Params(),
	Type:         sameType,
	RefineResult: notNull,
	Impl: func(args []cty.Value, retType cty.Type) (cty.Value, error) {
		if !args[0].IsWhollyKnown() {
			return cty.UnknownVal(retType), nil
		}
		var distinct []cty.Value
		seen := make(map[int][]cty.Value) // elements by hash
		for _, v := range args[0].Elements() {
			key := distinctKey(v)
			added, err := addMissing(seen[key], v)
			if err != nil {
				return cty.NilVal, err
			}
			if len(added) > len(seen[key]) {
				seen[key] = added
				distinct = append(distinct, v)
			}
		}
		if len(distinct) == 0 {
			return cty.ListValEmpty(retType.ElementType()), nil
		}
		return cty.ListVal(distinct), nil
	},
})

// distinctKey returns the same number for equal values. It doesn't use the hash of numbers
// directly, because 0 and -0 are equal but have different hashes.
func distinctKey(v cty.Value) int {
	if v.Type() == cty.String || v.Type() == cty.Bool {
		return v.Hash()
	}
	unsigned, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if v.Type() == cty.Number && !v.IsNull() && v.AsBigFloat().Sign() == 0 {
			return cty.Zero, nil
		}
		return v, nil
	})
	if err != nil {
		return 0 // the same key for all values is slower, but still correct
	}
	return unsigned.Hash()
}

// addMissing appends v unless values contains an equal value.
func addMissing(values []cty.Value, v cty.Value) ([]cty.Value, error) {
	for _, other := range values {
		equal, err := stdlib.Equal(other, v)
		if err != nil {
			return nil, err
		}
		if equal.True() {
			return values, nil
		}
	}
	return append(values, v), nil
}
