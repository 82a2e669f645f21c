package objchange

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/coerce"
)

// StorableNumbers returns v in the form in which it can be stored: negative zero becomes zero,
// because MessagePack has just one zero and planned and returned values must be equal. It also
// returns the path of a number that cannot be stored at all, if there is one: an infinite one,
// which JSON cannot express and which functions such as log(0, 10) return, or one with an absurd
// number of digits.
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

// hasOddNumber reports whether StorableNumbers has anything to do, which is rare.
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
