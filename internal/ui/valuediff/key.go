package valuediff

import (
	"iter"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/marks"
	"tofu/internal/states"
)

// Key returns a string that is the same for equal values with equal sensitive marks. It ignores
// other marks. All unknown values have the same key.
func Key(v cty.Value) string { return string(appendKey(nil, v)) }

func appendKey(b []byte, v cty.Value) []byte {
	v, own := v.Unmark()
	if _, secret := own[marks.Sensitive]; secret {
		b = append(b, 's')
	}
	switch {
	case !v.IsKnown():
		return append(b, '?')
	case v.IsNull():
		return append(b, "null"...)
	}
	switch kindOf(v) {
	case objectKind, mapKind:
		b = append(b, '{')
		for name, elem := range Members(v) {
			b = append(strconv.AppendQuote(b, name), ':')
			b = append(appendKey(b, elem), ',')
		}
		return append(b, '}')
	case listKind, setKind:
		b = append(b, '[')
		for it := v.ElementIterator(); it.Next(); {
			_, elem := it.Element()
			b = append(appendKey(b, elem), ',')
		}
		return append(b, ']')
	}
	switch ty := v.Type(); {
	case ty == cty.String:
		return strconv.AppendQuote(b, v.AsString())
	case ty == cty.Number:
		return states.AppendNumber(b, v.AsBigFloat())
	case ty == cty.Bool:
		return strconv.AppendBool(b, v.True())
	}
	return append(b, v.Type().FriendlyName()...)
}

// Members iterates over the members of a known, unmarked object or map, sorted by name.
func Members(v cty.Value) iter.Seq2[string, cty.Value] {
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
		attrs := ty.AttributeTypes()
		names := make([]string, 0, len(attrs))
		for name := range attrs {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if !yield(name, v.GetAttr(name)) {
				return
			}
		}
	}
}

// StepValue returns the value of a step as a string or number. It returns false for a step into a
// set.
func StepValue(step cty.PathStep) (cty.Value, bool) {
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
