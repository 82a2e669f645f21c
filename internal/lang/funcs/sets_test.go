package funcs

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"pgregory.net/rapid"
)

// TestSetOperations compares the operations on sets with those in stdlib.
func TestSetOperations(t *testing.T) {
	unknown := cty.UnknownVal(cty.String)
	elements := []cty.Value{cty.StringVal("a"), cty.StringVal("b"), cty.StringVal("1"), cty.StringVal("é"), unknown,
		unknown.RefineNotNull(), cty.NullVal(cty.String)}
	sets := rapid.Custom(func(t *rapid.T) cty.Value {
		v := rapid.SampledFrom([]cty.Value{cty.SetValEmpty(cty.String), cty.SetValEmpty(cty.DynamicPseudoType),
			cty.UnknownVal(cty.Set(cty.String)), cty.SetVal([]cty.Value{cty.NumberIntVal(1), cty.NumberIntVal(2)}),
			cty.SetVal([]cty.Value{cty.EmptyObjectVal}), cty.NullVal(cty.Set(cty.String)), cty.NilVal,
			cty.NilVal, cty.NilVal, cty.NilVal}).Draw(t, "set")
		if v == cty.NilVal {
			v = cty.SetVal(rapid.SliceOfN(rapid.SampledFrom(elements[:rapid.SampledFrom([]int{4, 4, 7}).Draw(t, "kinds")]),
				1, 5).Draw(t, "elements"))
		}
		if rapid.IntRange(0, 4).Draw(t, "marked") == 0 {
			v = v.Mark(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "mark"))
		}
		return v
	})
	rapid.Check(t, func(t *rapid.T) {
		for _, pair := range []struct{ own, like function.Function }{
			{setUnion, stdlib.SetUnionFunc}, {setIntersection, stdlib.SetIntersectionFunc},
			{setSubtract, stdlib.SetSubtractFunc},
		} {
			n := 2
			if pair.like.VarParam() != nil {
				n = rapid.IntRange(1, 4).Draw(t, "arguments")
			}
			args := rapid.SliceOfN(sets, n, n).Draw(t, "sets")
			got, err := pair.own.Call(args)
			want, wantErr := pair.like.Call(args)
			if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
				t.Fatalf("%#v: error %v, want %v", args, err, wantErr)
			}
			if err == nil && !got.RawEquals(want) {
				t.Fatalf("%#v: %#v, want %#v", args, got, want)
			}
		}
	})
}
