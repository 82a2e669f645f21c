package states

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Marshal encodes v as JSON text of type ty, which Unmarshal can decode. ctyjson encodes values
// that need a conversion, and returns the error for values that have no JSON form.
func Marshal(v cty.Value, ty cty.Type) ([]byte, error) {
	if out, ok := appendValue(nil, v, ty); ok {
		return out, nil
	}
	return ctyjson.Marshal(v, ty)
}

// appendValue appends the JSON text of v to b. It returns false for values that ctyjson has to
// handle.
func appendValue(b []byte, v cty.Value, ty cty.Type) ([]byte, bool) {
	switch is := v.Type(); {
	case v.IsMarked() || !v.IsKnown():
		return b, false
	case ty == cty.DynamicPseudoType && is != cty.DynamicPseudoType:
		return appendDynamic(b, v)
	case v.IsNull():
		return append(b, "null"...), is.Equals(ty)
	case ty.IsPrimitiveType():
		if is != ty {
			return b, false
		}
		return appendPrimitive(b, v)
	case ty.IsObjectType() && is.IsObjectType():
		return appendObject(b, v, ty.AttributeTypes())
	case ty.IsTupleType() && is.IsTupleType() && len(is.TupleElementTypes()) == len(ty.TupleElementTypes()):
		types := ty.TupleElementTypes()
		return appendElements(b, v, func(i int) cty.Type { return types[i] })
	case (ty.IsListType() || ty.IsSetType()) && is.Equals(ty):
		return appendElements(b, v, func(int) cty.Type { return ty.ElementType() })
	case ty.IsMapType() && is.Equals(ty):
		return appendMap(b, v, ty.ElementType())
	}
	return b, false
}

func appendPrimitive(b []byte, v cty.Value) ([]byte, bool) {
	switch v.Type() {
	case cty.String:
		return AppendString(b, v.AsString()), true
	case cty.Number:
		f := v.AsBigFloat()
		return AppendNumber(b, f), !f.IsInf()
	}
	return strconv.AppendBool(b, v.True()), true
}

// appendDynamic appends a value together with its type.
func appendDynamic(b []byte, v cty.Value) ([]byte, bool) {
	typ, err := ctyjson.MarshalType(v.Type())
	if err != nil {
		return b, false
	}
	b, ok := appendValue(append(b, `{"value":`...), v, v.Type())
	return append(append(append(b, `,"type":`...), typ...), '}'), ok
}

func appendObject(b []byte, v cty.Value, types map[string]cty.Type) ([]byte, bool) {
	if len(v.Type().AttributeTypes()) != len(types) {
		return b, false
	}
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(types)) {
		if !v.Type().HasAttribute(name) {
			return b, false
		}
		if i > 0 {
			b = append(b, ',')
		}
		var ok bool
		b, ok = appendValue(append(AppendString(b, name), ':'), v.GetAttr(name), types[name])
		if !ok {
			return b, false
		}
	}
	return append(b, '}'), true
}

func appendElements(b []byte, v cty.Value, typeOf func(i int) cty.Type) ([]byte, bool) {
	b = append(b, '[')
	i, ok := 0, true
	for it := v.ElementIterator(); it.Next(); i++ {
		if i > 0 {
			b = append(b, ',')
		}
		_, elem := it.Element()
		b, ok = appendValue(b, elem, typeOf(i))
		if !ok {
			return b, false
		}
	}
	return append(b, ']'), true
}

func appendMap(b []byte, v cty.Value, ty cty.Type) ([]byte, bool) {
	b = append(b, '{')
	first, ok := true, true
	for it := v.ElementIterator(); it.Next(); first = false {
		if !first {
			b = append(b, ',')
		}
		key, elem := it.Element()
		b, ok = appendValue(append(AppendString(b, key.AsString()), ':'), elem, ty)
		if !ok {
			return b, false
		}
	}
	return append(b, '}'), true
}

// AppendString appends s as a JSON string. Strings without special characters are copied directly.
func AppendString(b []byte, s string) []byte {
	if !PlainString(s) {
		literal, err := json.Marshal(s)
		if err != nil {
			panic("unreachable: any string is valid JSON")
		}
		return append(b, literal...)
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// PlainString reports whether s is written in JSON as it is. It returns false for some strings that
// are.
func PlainString[T string | []byte](s T) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// AppendNumber appends f without an exponent, as the shortest decimal that rounds to f at its
// precision. The general search for this decimal is slow at the precision that the language uses,
// so integers and short decimals take faster paths. This is correct because no two decimals of at
// most 17 digits are the same number at that precision.
func AppendNumber(b []byte, f *big.Float) []byte {
	if f.Prec() < 64 || f.IsInf() {
		return f.Append(b, 'f', -1)
	}
	if n, acc := f.Int64(); acc == big.Exact && (n != 0 || !f.Signbit()) {
		return strconv.AppendInt(b, n, 10)
	}
	if out, ok := appendShort(b, f); ok {
		return out
	}
	return f.Append(b, 'f', -1)
}

// appendShort appends a number that has at most 17 significant digits. It returns false for longer
// numbers, for more than 18 decimal places, and if the digits don't fit into an int64.
func appendShort(b []byte, f *big.Float) ([]byte, bool) {
	near, _ := f.Float64()
	out := strconv.AppendFloat(b, near, 'f', -1, 64)
	whole, fraction, _ := bytes.Cut(out[len(b):], []byte("."))
	digits, err := strconv.ParseInt(string(whole)+string(fraction), 10, 64)
	if err != nil || len(fraction) > 18 {
		return b, false
	}
	scale := int64(1)
	for range fraction {
		scale *= 10
	}
	same := new(big.Float).SetPrec(f.Prec()).SetMode(f.Mode())
	same.Quo(new(big.Float).SetInt64(digits), new(big.Float).SetInt64(scale))
	return out, same.Cmp(f) == 0
}
