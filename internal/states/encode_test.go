package states

import (
	"math"
	"math/big"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"pgregory.net/rapid"

	"tofu/internal/lang/marks"
)

func TestMarshalAgreesWithCtyjson(t *testing.T) {
	number := cty.MustParseNumberVal
	object := cty.ObjectVal(map[string]cty.Value{"b": cty.StringVal("<é\"\x7f\u2028>"), "a": number("0.1"),
		"c": cty.NullVal(cty.Bool)})
	tests := []struct {
		v  cty.Value
		ty cty.Type
	}{
		{object, object.Type()}, {object, cty.DynamicPseudoType}, {object, cty.Map(cty.String)},
		{object, cty.EmptyObject},
		{object, cty.Object(map[string]cty.Type{"a": cty.String, "b": cty.String, "c": cty.Bool})},
		{object, cty.Object(map[string]cty.Type{"a": cty.DynamicPseudoType, "b": cty.DynamicPseudoType,
			"c": cty.DynamicPseudoType})},
		{cty.TupleVal([]cty.Value{cty.True, object}), cty.DynamicPseudoType},
		{cty.TupleVal([]cty.Value{cty.True}), cty.Tuple([]cty.Type{cty.Bool, cty.Bool})},
		{cty.TupleVal([]cty.Value{cty.True}), cty.List(cty.String)},
		{cty.ListVal([]cty.Value{object, object}), cty.List(object.Type())},
		{cty.ListValEmpty(cty.Bool), cty.List(cty.Object(nil))},
		{cty.SetVal([]cty.Value{number("2"), number("10"), number("-1.5")}), cty.Set(cty.Number)},
		{cty.MapVal(map[string]cty.Value{"y&": cty.True, "x": cty.False}), cty.Map(cty.Bool)},
		{cty.MapValEmpty(cty.Bool), cty.Map(cty.Bool)},
		{cty.NullVal(cty.String), cty.String}, {cty.NullVal(cty.String), cty.Number},
		{cty.NullVal(object.Type()), cty.DynamicPseudoType},
		{cty.NullVal(cty.DynamicPseudoType), cty.DynamicPseudoType}, {cty.NullVal(cty.DynamicPseudoType), cty.String},
		{cty.StringVal("12"), cty.Number}, {cty.StringVal("x"), cty.Number}, {number("12"), cty.String},
		{cty.PositiveInfinity, cty.Number},
		{cty.UnknownVal(cty.String), cty.String}, {cty.True.Mark(marks.Sensitive), cty.Bool},
		{cty.Zero.Negate(), cty.Number},
	}
	for _, test := range tests {
		got, gotErr := Marshal(test.v, test.ty)
		want, wantErr := ctyjson.Marshal(test.v, test.ty)
		if string(got) != string(want) || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%#v as %#v: got %s %v, want %s %v", test.v, test.ty, got, gotErr, want, wantErr)
		}
	}
}

// TestAppendNumber checks that AppendNumber writes the same digits as big.Float.
func TestAppendNumber(t *testing.T) {
	check := func(t interface{ Errorf(string, ...any) }, f *big.Float) {
		if got, want := string(AppendNumber(nil, f)), f.Text('f', -1); got != want {
			t.Errorf("%d bits: got %s, want %s", f.Prec(), got, want)
		}
	}
	negativeZero := new(big.Float).Neg(new(big.Float))
	for _, f := range []*big.Float{
		new(big.Float), negativeZero, big.NewFloat(1e17), big.NewFloat(100000000000000016),
		big.NewFloat(math.MaxFloat64), big.NewFloat(5e-324),
		new(big.Float).SetInt64(math.MaxInt64), new(big.Float).SetInt64(math.MinInt64), new(big.Float).SetInf(true),
		new(big.Float).SetPrec(24).SetFloat64(16777216),
		cty.MustParseNumberVal("0.1").AsBigFloat(), cty.MustParseNumberVal("1e-400").AsBigFloat(),
		cty.MustParseNumberVal("9223372036854775808").AsBigFloat(),
		cty.NumberIntVal(1).Divide(cty.NumberIntVal(3)).AsBigFloat(), cty.NumberFloatVal(0.1).AsBigFloat(),
	} {
		check(t, f)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?[0-9]{1,25}(\.[0-9]{1,25})?(e-?[0-9]{1,3})?`).Draw(t, "number")
		f, _, err := big.ParseFloat(text, 10, rapid.SampledFrom([]uint{24, 53, 64, 512}).Draw(t, "bits"),
			big.ToNearestEven)
		if err != nil {
			t.Skip(err)
		}
		check(t, f)
		check(t, new(big.Float).Quo(f, big.NewFloat(rapid.Float64Range(1, 1000).Draw(t, "divisor"))))
	})
}

func BenchmarkAppendNumber(b *testing.B) {
	for name, f := range map[string]*big.Float{
		"whole": cty.MustParseNumberVal("443").AsBigFloat(), "short": cty.MustParseNumberVal("2.5").AsBigFloat(),
		"third": cty.NumberIntVal(1).Divide(cty.MustParseNumberVal("3")).AsBigFloat(),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				AppendNumber(nil, f)
			}
		})
	}
}
