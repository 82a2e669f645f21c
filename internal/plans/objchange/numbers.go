package objchange

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/coerce"
)

// StorableNumbers returns v in a form that can be stored. Negative zero becomes zero, because
// MessagePack has only one zero, and planned and returned values must be equal. If v contains a
// number that cannot be stored at all, its path is returned too. Such a number is infinite or has
// an excessive number of digits. JSON cannot express infinite numbers, which functions such as
// log(0, 10) return.
func StorableNumbers(v cty.Value) (stored cty.Value, infinite cty.Path, found bool) {
	if !hasOddNumber(v) {
		return v, nil, false
	}
	stored, _ = cty.Transform(v, func(path cty.Path, v cty.Value) (cty.Value, error) {
		bare, marks := v.Unmark()
		switch {
		case bare.Type() != cty.Number || bare.IsNull() || !bare.IsKnown():
		case unstorable(bare) && !found:
			infinite, found = path.Copy(), true
		case negativeZero(bare):
			return cty.Zero.WithMarks(marks), nil
		}
		return v, nil
	})
	return stored, infinite, found
}

// hasOddNumber reports whether StorableNumbers has anything to do. This is rare.
func hasOddNumber(v cty.Value) bool {
	v, _ = v.Unmark()
	ty := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown():
		return false
	case ty.IsPrimitiveType():
		return ty == cty.Number && (unstorable(v) || negativeZero(v))
	case ty.IsObjectType():
		for name := range ty.AttributeTypes() {
			if hasOddNumber(v.GetAttr(name)) {
				return true
			}
		}
		return false
	case !v.CanIterateElements() || ty.IsCollectionType() && ty.ElementType().IsPrimitiveType() &&
		ty.ElementType() != cty.Number:
		return false
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, elem := it.Element(); hasOddNumber(elem) {
			return true
		}
	}
	return false
}

// unstorable reports whether a number is infinite or has too many digits to be written down.
func unstorable(v cty.Value) bool {
	f := v.AsBigFloat()
	return f.IsInf() || coerce.LongNumber(f)
}

func negativeZero(v cty.Value) bool {
	f := v.AsBigFloat()
	return f.Sign() == 0 && f.Signbit()
}
