package objchange

import "github.com/zclconf/go-cty/cty"

// Possible reports whether planned can become actual when its unknown parts become known. The known
// parts must be equal, and the other parts of actual must match the types and refinements of the
// unknown values. A set that is not wholly known matches any set. Neither value may have marks.
func Possible(planned, actual cty.Value) bool {
	same := true
	_ = cty.Walk(planned, func(path cty.Path, was cty.Value) (bool, error) {
		now, err := path.Apply(actual)
		switch {
		case err != nil:
			same = false
		case !was.IsKnown():
			within := was.Range().Includes(now)
			same = same && (!within.IsKnown() || within.True())
		case was.IsNull() || now.IsNull() || was.Type().IsPrimitiveType():
			same = same && was.RawEquals(now)
		case was.Type().IsSetType():
			same = same && (!was.IsWhollyKnown() || was.RawEquals(now))
			return false, nil // the path of a set element contains the element itself, so it can't be applied to actual
		case was.CanIterateElements() && now.CanIterateElements():
			same = same && was.LengthInt() == now.LengthInt()
		}
		return same, nil
	})
	return same
}
