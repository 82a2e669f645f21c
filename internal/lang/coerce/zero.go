package coerce

import "github.com/zclconf/go-cty/cty"

// IsZero reports whether a value is an empty string or collection, zero or false. Some providers
// return it for an argument that isn't set.
func IsZero(v cty.Value) bool {
	switch ty := v.Type(); {
	case v.IsNull() || !v.IsKnown():
		return false
	case ty == cty.String:
		return v.AsString() == ""
	case ty == cty.Number:
		return v.RawEquals(cty.Zero)
	case ty == cty.Bool:
		return v.False()
	}
	return v.CanIterateElements() && v.LengthInt() == 0
}
