package ui

import (
	"encoding/json"
	"math/big"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/marks"
	"tofu/internal/states"
)

// The JSON documents describe a value up to three times: as itself, as a map of its unknown parts,
// and as a map of its sensitive parts. The maps have the shape of the value. Objects in them omit
// parts that are false; lists can't.

var (
	jsonNull  = json.RawMessage("null")
	jsonTrue  = json.RawMessage("true")
	jsonFalse = json.RawMessage("false")
	jsonEmpty = json.RawMessage("{}")
)

// valueJSON returns the JSON form of a value by the usual mapping of types. Unknown values are
// omitted from objects and maps, and null elsewhere. Marks are ignored, except that ephemeral
// values become null.
func valueJSON(v cty.Value) json.RawMessage { return appendValue(nil, v) }

func appendValue(b []byte, v cty.Value) []byte {
	if marks.Has(v, marks.Ephemeral) {
		return append(b, "null"...)
	}
	v, _ = v.Unmark()
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return append(b, "null"...)
	}
	ty := v.Type()
	switch {
	case ty == cty.String:
		return states.AppendString(b, v.AsString())
	case ty == cty.Number:
		return appendNumber(b, v.AsBigFloat())
	case ty == cty.Bool:
		if v.True() {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	case ty.IsObjectType() || ty.IsMapType():
		return appendMembers(b, v, func(b []byte, elem cty.Value) ([]byte, bool) {
			if !elem.IsKnown() {
				return b, false
			}
			return appendValue(b, elem), true
		})
	case ty.IsListType() || ty.IsTupleType() || ty.IsSetType():
		return appendElements(b, v, appendValue)
	}
	return append(b, "null"...) // a capsule has no JSON form
}

// appendNumber appends a number with all its digits.
func appendNumber(b []byte, f *big.Float) []byte {
	if f.IsInf() { // JSON has no infinity
		return append(b, "null"...)
	}
	return states.AppendNumber(b, f)
}

// appendMembers appends the members of a known object or map in order of their names. write reports
// whether it wrote one.
func appendMembers(b []byte, v cty.Value, write func([]byte, cty.Value) ([]byte, bool)) []byte {
	b = append(b, '{')
	first := true
	for name, elem := range members(v) {
		start := len(b)
		if !first {
			b = append(b, ',')
		}
		b = append(states.AppendString(b, name), ':')
		out, wrote := write(b, elem)
		if !wrote {
			b = b[:start]
			continue
		}
		b, first = out, false
	}
	return append(b, '}')
}

// appendElements appends the elements of a known list, set or tuple.
func appendElements(b []byte, v cty.Value, write func([]byte, cty.Value) []byte) []byte {
	b = append(b, '[')
	first := true
	for it := v.ElementIterator(); it.Next(); {
		if !first {
			b = append(b, ',')
		}
		first = false
		_, elem := it.Element()
		b = write(b, elem)
	}
	return append(b, ']')
}

// members iterates over a known, unmarked object or map by name.
func members(v cty.Value) func(yield func(string, cty.Value) bool) {
	return func(yield func(string, cty.Value) bool) {
		ty := v.Type()
		if ty.IsMapType() {
			for it := v.ElementIterator(); it.Next(); {
				key, elem := it.Element()
				key, _ = key.Unmark()
				if !yield(key.AsString(), elem) {
					return
				}
			}
			return
		}
		for _, name := range attributeNames(ty) {
			if !yield(name, v.GetAttr(name)) {
				return
			}
		}
	}
}

func attributeNames(ty cty.Type) []string {
	attrs := ty.AttributeTypes()
	names := make([]string, 0, len(attrs))
	for name := range attrs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// unknownJSON returns the map of the unknown parts of v.
func unknownJSON(v cty.Value) json.RawMessage { return appendUnknown(nil, v) }

func appendUnknown(b []byte, v cty.Value) []byte {
	v, _ = v.Unmark()
	switch {
	case !v.IsKnown():
		return append(b, "true"...)
	case v.IsNull():
		return append(b, "false"...)
	}
	return appendShape(b, v, appendUnknown)
}

// appendShape appends a map in the shape of a known, unmarked value.
func appendShape(b []byte, v cty.Value, elem func([]byte, cty.Value) []byte) []byte {
	ty := v.Type()
	switch {
	case ty.IsObjectType() || ty.IsMapType():
		return appendMembers(b, v, func(b []byte, e cty.Value) ([]byte, bool) {
			start := len(b)
			b = elem(b, e)
			return b, string(b[start:]) != "false"
		})
	case ty.IsListType() || ty.IsTupleType() || ty.IsSetType():
		return appendElements(b, v, elem)
	}
	return append(b, "false"...)
}

// sensitiveJSON returns the map of the sensitive parts of v.
func sensitiveJSON(v cty.Value) json.RawMessage { return appendSensitive(nil, v) }

func appendSensitive(b []byte, v cty.Value) []byte {
	if marks.Has(v, marks.Sensitive) {
		return append(b, "true"...)
	}
	v, _ = v.Unmark()
	switch {
	case v.IsNull():
		return append(b, "false"...)
	case !v.IsKnown():
		return append(b, emptyShape(v.Type())...)
	}
	return appendShape(b, v, appendSensitive)
}

// emptyShape returns the map of an unknown value without known sensitive parts.
func emptyShape(ty cty.Type) string {
	switch {
	case ty.IsPrimitiveType() || ty == cty.DynamicPseudoType:
		return "false"
	case ty.IsListType() || ty.IsTupleType() || ty.IsSetType():
		return "[]"
	}
	return "{}"
}

// typeJSON returns the JSON form of a type.
func typeJSON(ty cty.Type) json.RawMessage {
	b, err := json.Marshal(ty)
	if err != nil {
		return json.RawMessage(`"dynamic"`)
	}
	return b
}

// pathJSON returns a path as a list of names, keys and indexes. It ends before a step into a set.
func pathJSON(path cty.Path) json.RawMessage {
	b := []byte{'['}
	for i, step := range path {
		key, ok := stepValue(step)
		if !ok {
			break
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, key)
	}
	return append(b, ']')
}

// stepValue returns a step as a string or number, and false for the element of a set.
func stepValue(step cty.PathStep) (cty.Value, bool) {
	switch step := step.(type) {
	case cty.GetAttrStep:
		return cty.StringVal(step.Name), true
	case cty.IndexStep:
		key, _ := step.Key.Unmark()
		if key.IsKnown() && !key.IsNull() && (key.Type() == cty.String || key.Type() == cty.Number) {
			return key, true
		}
	}
	return cty.NilVal, false
}
