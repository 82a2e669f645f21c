package ui

import (
	"encoding/json"
	"math/big"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/marks"
	"tofu/internal/states"
	"tofu/internal/ui/valuediff"
)

// JSON documents describe a value up to three times: the value itself, a map of its unknown
// parts, and a map of its sensitive parts. The maps have the same structure as the value.
// Objects in the maps omit parts that are false, but lists can't omit them.

var (
	jsonNull  = json.RawMessage("null")
	jsonTrue  = json.RawMessage("true")
	jsonFalse = json.RawMessage("false")
	jsonEmpty = json.RawMessage("{}")
)

// ValueDocument describes a value without what is sensitive or ephemeral, which is null.
type ValueDocument struct {
	Type      json.RawMessage `json:"type"`
	Value     json.RawMessage `json:"value"`
	Unknown   json.RawMessage `json:"unknown"`   // the map of the parts that are known only after the apply
	Sensitive json.RawMessage `json:"sensitive"` // the map of the sensitive parts
}

// DescribeValue describes a value.
func DescribeValue(v cty.Value) ValueDocument {
	return ValueDocument{typeJSON(v.Type()), valueJSON(withoutSecrets(v)), unknownJSON(v), sensitiveJSON(v)}
}

// DescribeOutputs describes stored outputs.
func DescribeOutputs(outputs map[string]*states.Output) map[string]ValueDocument {
	out := map[string]ValueDocument{}
	for name, o := range outputs {
		v := o.Value
		if o.Sensitive {
			v = v.Mark(marks.Sensitive)
		}
		out[name] = DescribeValue(v)
	}
	return out
}

// valueJSON returns the JSON form of a value. Objects and maps omit unknown values, which are
// null everywhere else. Ephemeral values become null, and other marks are ignored.
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

// appendMembers appends the members of a known object or map, sorted by name. write returns
// false if it omits a member.
func appendMembers(b []byte, v cty.Value, write func([]byte, cty.Value) ([]byte, bool)) []byte {
	b = append(b, '{')
	first := true
	for name, elem := range valuediff.Members(v) {
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

// appendShape appends a map with the structure of a known, unmarked value.
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

// emptyShape returns the map for an unknown value of a type. The value has no known sensitive
// parts.
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

// pathJSON returns a path as a list of names, keys and indexes. It ends at the first step into
// a set.
func pathJSON(path cty.Path) json.RawMessage {
	b := []byte{'['}
	for i, step := range path {
		key, ok := valuediff.StepValue(step)
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
