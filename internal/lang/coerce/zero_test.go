package coerce

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func TestIsZero(t *testing.T) {
	str := cty.StringVal
	for _, v := range []cty.Value{str(""), cty.Zero, cty.False, cty.ListValEmpty(cty.String), cty.EmptyTupleVal,
		cty.MapValEmpty(cty.Number), cty.SetValEmpty(cty.Bool), cty.EmptyObjectVal} {
		if !IsZero(v) {
			t.Errorf("%#v is zero", v)
		}
	}
	for _, v := range []cty.Value{str("0"), cty.NumberFloatVal(0.5), cty.True, cty.NullVal(cty.String),
		cty.UnknownVal(cty.Number), cty.DynamicVal, cty.ListVal([]cty.Value{str("")}), cty.TupleVal([]cty.Value{cty.Zero})} {
		if IsZero(v) {
			t.Errorf("%#v is not zero", v)
		}
	}
}
