package states

import (
	"bytes"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/jsonscan"
	"tofu/internal/lang/coerce"
	"tofu/internal/lang/jsonvalue"
)

// Every plan decodes every object of the state, so this decoder scans the text only once. Decoding
// with ctyjson's tokens takes several times as long. If the text has an error or a form that
// neither this program nor OpenTofu writes, ctyjson decodes it instead. So the result is always
// that of ctyjson.

// Unmarshal decodes JSON text as a value of type ty.
func Unmarshal(text []byte, ty cty.Type) (cty.Value, error) {
	return (&decoder{Scanner: jsonscan.Scanner{Data: text}}).decode(ty)
}

// decode decodes the whole text.
func (d *decoder) decode(ty cty.Type) (cty.Value, error) {
	if v, ok := d.value(ty); ok && d.End() {
		return v, nil
	}
	if d.twice != "" {
		return cty.NilVal, fmt.Errorf("%q is there twice", d.twice)
	}
	return unmarshalUnusual(d.Data, ty)
}

// unmarshalUnusual decodes text with ctyjson. It returns an error for numbers that are too long,
// for collections whose elements have different dynamic types, and for tuples of the wrong length.
// ctyjson panics for the last two, which only damaged files contain.
func unmarshalUnusual(text []byte, ty cty.Type) (v cty.Value, err error) {
	defer recoverValue(ty, &v, &err)
	v, err = ctyjson.Unmarshal(text, ty)
	if err == nil && coerce.HasLongNumber(v) {
		return cty.NilVal, coerce.ErrLongNumber
	}
	return v, err
}

// A decoder decodes values from the start of JSON text. Its methods return false if ctyjson has to
// decode the text.
type decoder struct {
	jsonscan.Scanner
	shares bool   // whether strings share the memory of the text, which is never changed
	twice  string // a name that an object or a map has twice; programs disagree about which one counts
	// last is the text of the last value that is stored with its type. Objects such as those of
	// terraform_data often have it again: their output is their input.
	last      []byte
	lastValue cty.Value
}

func (d *decoder) value(ty cty.Type) (cty.Value, bool) {
	if d.Space() == 'n' {
		return cty.NullVal(ty), d.Word("null")
	}
	switch {
	case ty == cty.String:
		text := d.Text
		if d.shares {
			text = d.SharedText
		}
		s, ok := text()
		return cty.StringVal(s), ok
	case ty == cty.Number:
		return d.number()
	case ty == cty.Bool:
		if d.Word("true") {
			return cty.True, true
		}
		return cty.False, d.Word("false")
	case ty == cty.DynamicPseudoType:
		return d.dynamic()
	case ty.IsObjectType():
		return d.object(ty)
	case ty.IsMapType():
		return d.mapping(ty)
	case ty.IsListType() || ty.IsSetType():
		return d.list(ty)
	case ty.IsTupleType():
		return d.tuple(ty)
	}
	return cty.NilVal, false
}

func (d *decoder) number() (cty.Value, bool) {
	raw, ok := d.Number()
	if !ok {
		return cty.NilVal, false
	}
	return jsonvalue.Number(raw)
}

// dynamic decodes a value that is stored together with its type.
func (d *decoder) dynamic() (cty.Value, bool) {
	start := d.Pos
	if len(d.last) > 0 && bytes.HasPrefix(d.Data[start:], d.last) {
		d.Pos += len(d.last)
		return d.lastValue, true
	}
	var value, typ []byte
	ok := d.Members(func(name []byte) bool {
		raw, ok := d.Raw()
		switch {
		case string(name) == "value" && value == nil:
			value = raw
		case string(name) == "type" && typ == nil:
			typ = raw
		default:
			return false
		}
		return ok
	})
	if !ok || value == nil || typ == nil {
		return cty.NilVal, false
	}
	ty, err := UnmarshalType(typ)
	if err != nil {
		return cty.NilVal, false
	}
	inner := decoder{Scanner: jsonscan.Scanner{Data: value}, shares: d.shares}
	v, ok := inner.value(ty)
	d.twice = inner.twice
	if ok = ok && inner.End(); ok {
		d.last, d.lastValue = d.Data[start:d.Pos], v
	}
	return v, ok
}

func (d *decoder) object(ty cty.Type) (cty.Value, bool) {
	types := ty.AttributeTypes()
	attrs := make(map[string]cty.Value, len(types))
	ok := d.Members(func(name []byte) bool {
		aty, known := types[string(name)]
		if _, twice := attrs[string(name)]; twice {
			d.twice = string(name)
		}
		if !known || d.twice != "" {
			return false
		}
		v, ok := d.value(aty)
		attrs[string(name)] = v
		return ok
	})
	if !ok {
		return cty.NilVal, false
	}
	for name, aty := range types {
		if _, given := attrs[name]; !given {
			attrs[name] = cty.NullVal(aty)
		}
	}
	return cty.ObjectVal(attrs), true
}

func (d *decoder) mapping(ty cty.Type) (cty.Value, bool) {
	elems := make(map[string]cty.Value)
	ok := d.Members(func(name []byte) bool {
		v, ok := d.value(ty.ElementType())
		if _, twice := elems[string(name)]; twice {
			d.twice = string(name)
			return false
		}
		elems[string(name)] = v
		return ok
	})
	switch {
	case !ok || ty.ElementType().HasDynamicTypes(): // ctyjson returns the error if elements have different types
		return cty.NilVal, false
	case len(elems) == 0:
		return cty.MapValEmpty(ty.ElementType()), true
	}
	return cty.MapVal(elems), true
}

func (d *decoder) list(ty cty.Type) (cty.Value, bool) {
	ety := ty.ElementType()
	var elems []cty.Value
	ok := d.Elements(func() bool {
		v, ok := d.value(ety)
		elems = append(elems, v)
		return ok
	})
	switch {
	case !ok || ety.HasDynamicTypes():
		return cty.NilVal, false
	case ty.IsListType() && len(elems) == 0:
		return cty.ListValEmpty(ety), true
	case ty.IsListType():
		return cty.ListVal(elems), true
	case len(elems) == 0:
		return cty.SetValEmpty(ety), true
	}
	return cty.SetVal(elems), true
}

func (d *decoder) tuple(ty cty.Type) (cty.Value, bool) {
	types := ty.TupleElementTypes()
	elems := make([]cty.Value, 0, len(types))
	ok := d.Elements(func() bool {
		if len(elems) == len(types) {
			return false
		}
		v, ok := d.value(types[len(elems)])
		elems = append(elems, v)
		return ok
	})
	if !ok || len(elems) != len(types) {
		return cty.NilVal, false
	}
	return cty.TupleVal(elems), true
}
