package coerce_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"pgregory.net/rapid"

	"tofu/internal/lang/coerce"
)

var primitive = rapid.SampledFrom([]cty.Type{cty.String, cty.Number, cty.Bool})

func anyType(depth int) *rapid.Generator[cty.Type] {
	return rapid.Custom(func(t *rapid.T) cty.Type {
		kind := 0
		if depth > 0 {
			kind = rapid.IntRange(0, 9).Draw(t, "kind")
		}
		inner := func() cty.Type { return anyType(depth-1).Draw(t, "inner") }
		switch kind {
		case 4:
			return cty.List(inner())
		case 5:
			return cty.Set(inner())
		case 6:
			return cty.Map(inner())
		case 7:
			return cty.Object(map[string]cty.Type{"a": inner(), "b": inner()})
		case 8:
			return cty.ObjectWithOptionalAttrs(map[string]cty.Type{"a": inner(), "b": inner()}, []string{"b"})
		case 9:
			return cty.DynamicPseudoType
		}
		return primitive.Draw(t, "primitive")
	})
}

func anyValue(depth int) *rapid.Generator[cty.Value] {
	return rapid.Custom(func(t *rapid.T) cty.Value {
		kind := rapid.IntRange(0, 6).Draw(t, "kind")
		if depth > 0 {
			kind = rapid.IntRange(3, 12).Draw(t, "kind")
		}
		inner := func() []cty.Value { return rapid.SliceOfN(anyValue(depth-1), 0, 4).Draw(t, "inner") }
		switch kind {
		case 0:
			return cty.UnknownVal(primitive.Draw(t, "type"))
		case 1:
			return cty.NullVal(primitive.Draw(t, "type"))
		case 2:
			return cty.DynamicVal
		case 3:
			return cty.StringVal(rapid.SampledFrom([]string{"a", "1", "true"}).Draw(t, "text")).Mark("m")
		case 4:
			return cty.NumberIntVal(rapid.Int64Range(0, 3).Draw(t, "number"))
		case 5:
			return cty.BoolVal(rapid.Bool().Draw(t, "bool"))
		case 6:
			return cty.StringVal(rapid.SampledFrom([]string{"a", "1", "true"}).Draw(t, "text"))
		case 7, 8, 9:
			return cty.TupleVal(inner())
		case 10:
			return cty.TupleVal(inner()).Mark("m")
		}
		attrs := make(map[string]cty.Value)
		for i, v := range inner() {
			attrs[string(rune('a'+i))] = v
		}
		return cty.ObjectVal(attrs)
	})
}

// TestAsLibrary compares conversions of random values with the results of cty's package convert.
func TestAsLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, want := anyValue(3).Draw(t, "value"), anyType(3).Draw(t, "type")
		got, err := coerce.Convert(v, want)
		expected, expectedErr := convert.Convert(v, want)
		// if a value has several errors, the two packages may report different ones
		if (err == nil) != (expectedErr == nil) {
			t.Fatalf("%#v to %#v:\n got %v\nwant %v", v, want, err, expectedErr)
		}
		if err == nil && !got.RawEquals(expected) {
			t.Fatalf("%#v to %#v:\n got %#v\nwant %#v", v, want, got, expected)
		}
		from := v.Type()
		if got, expected := coerce.Convertible(from, want), from.Equals(want) ||
			convert.GetConversionUnsafe(from, want) != nil; got != expected {
			t.Fatalf("%#v to %#v is convertible: got %v, want %v", from, want, got, expected)
		}
	})
}
