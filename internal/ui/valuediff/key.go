package valuediff

import (
	"bytes"
	"iter"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/marks"
	"tofu/internal/states"
)

// Key returns a string that is the same for equal values with equal sensitive marks. It ignores
// other marks. All unknown values have the same key.
func Key(v cty.Value) string { return string(keyOf{}.append(nil, v)) }

// Alike reports whether two values are equal apart from marks, and from null where the other has an
// empty string or collection. Many providers don't tell these apart.
func Alike(a, b cty.Value) bool {
	alike := keyOf{alike: true}
	return bytes.Equal(alike.append(nil, a), alike.append(nil, b))
}

// keyOf says which values have the same key.
type keyOf struct {
	alike    bool // as for Alike
	unmarked bool // ignore sensitive marks, too
}

func (k keyOf) append(b []byte, v cty.Value) []byte {
	v, own := v.Unmark()
	if _, secret := own[marks.Sensitive]; secret && !k.alike && !k.unmarked {
		b = append(b, 's')
	}
	switch {
	case k.alike && isEmpty(v):
		return append(b, "null"...)
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
			b = append(k.append(b, elem), ',')
		}
		return append(b, '}')
	case listKind, setKind:
		b = append(b, '[')
		for it := v.ElementIterator(); it.Next(); {
			_, elem := it.Element()
			b = append(k.append(b, elem), ',')
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

// isEmpty reports whether an unmarked value is null, or a string or collection without content.
func isEmpty(v cty.Value) bool {
	switch {
	case v.IsNull():
		return true
	case !v.IsKnown():
		return false
	case v.Type() == cty.String:
		return v.AsString() == ""
	}
	return v.Type().IsCollectionType() && v.LengthInt() == 0
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
