package funcs

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// TestDistinctLikeLibrary compares results with the library's function, for lists of random values
// of many types.
func TestDistinctLikeLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	negativeZero := cty.NumberVal(new(big.Float).Neg(new(big.Float)))
	numbers := []cty.Value{cty.Zero, negativeZero, cty.NumberIntVal(1), cty.NumberFloatVal(1),
		cty.MustParseNumberVal("1.00"), cty.MustParseNumberVal("0.1"),
		cty.NumberFloatVal(0.1), cty.MustParseNumberVal("12345678901"), cty.MustParseNumberVal("12345678902"),
		cty.NullVal(cty.Number), cty.UnknownVal(cty.Number)}
	strings := []cty.Value{cty.StringVal(""), cty.StringVal("a"), cty.StringVal("null"), cty.NullVal(cty.String),
		cty.StringVal("a").Mark("secret")}
	pick := func(from []cty.Value) cty.Value { return from[r.IntN(len(from))] }
	list := func(element func() cty.Value) cty.Value {
		values := make([]cty.Value, 1+r.IntN(12))
		for i := range values {
			values[i] = element()
		}
		return cty.ListVal(values)
	}
	number := func() cty.Value { return pick(numbers[:len(numbers)-r.IntN(2)]) }
	text := func() cty.Value { return pick(strings[:len(strings)-r.IntN(2)]) }
	kinds := map[string]func() cty.Value{
		"number": number,
		"string": text,
		"object": func() cty.Value { return cty.ObjectVal(map[string]cty.Value{"n": number(), "s": text()}) },
		"list":   func() cty.Value { return list(number) },
		"map":    func() cty.Value { return cty.MapVal(map[string]cty.Value{"a": text(), "b": text()}) },
		"set":    func() cty.Value { return cty.SetVal([]cty.Value{text(), text()}) },
		"bool":   func() cty.Value { return pick([]cty.Value{cty.True, cty.False, cty.NullVal(cty.Bool)}) },
	}
	for name, element := range kinds {
		for range 500 {
			args := []cty.Value{list(element)}
			want, wantErr := stdlib.DistinctFunc.Call(args)
			got, err := distinctFunc.Call(args)
			if (err == nil) != (wantErr == nil) || err == nil && !got.RawEquals(want) {
				t.Fatalf("%s: distinct(%#v) = %#v (%v), want %#v (%v)", name, args[0], got, err, want, wantErr)
			}
		}
	}
}

// TestDistinctIsLinear would take hours if the cost were quadratic.
func TestDistinctIsLinear(t *testing.T) {
	values := make([]cty.Value, 200_000)
	for i := range values {
		values[i] = cty.StringVal(strconv.Itoa(i))
	}
	start := time.Now()
	got, err := distinctFunc.Call([]cty.Value{cty.ListVal(values)})
	if err != nil || got.LengthInt() != len(values) {
		t.Fatal(err)
	}
	if elapsed := time.Since(start); elapsed > time.Minute {
		t.Errorf("took %v", elapsed)
	}
}
