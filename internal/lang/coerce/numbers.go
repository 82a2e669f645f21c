package coerce

import (
	"errors"
	"math/big"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/limits"
)

// ErrLongNumber is the error for a number that would take too long to format.
var ErrLongNumber = errors.New("the number has too many digits")

const maxExponent = 4 * limits.Digits // in bits, of which a digit takes fewer than four

// LongNumber reports whether a number has too many digits before or after the decimal point to be
// formatted. Such a number may be short in exponential notation, but the cost of formatting it is
// quadratic in the number of digits.
func LongNumber(f *big.Float) bool {
	exponent := f.MantExp(nil)
	return exponent > maxExponent || exponent < -maxExponent
}

// HasLongNumber reports whether v is or contains a number for which LongNumber returns true.
func HasLongNumber(v cty.Value) bool { return AnyNumber(v, LongNumber) }

// AnyNumber reports whether match returns true for v or for any number in v. It skips null and
// unknown numbers, and doesn't search collections of other primitive types.
func AnyNumber(v cty.Value, match func(*big.Float) bool) bool {
	v, _ = v.Unmark()
	ty := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown():
		return false
	case ty == cty.Number:
		return match(v.AsBigFloat())
	case ty.IsObjectType():
		for name := range ty.AttributeTypes() {
			if AnyNumber(v.GetAttr(name), match) {
				return true
			}
		}
		return false
	case !v.CanIterateElements() || ty.IsCollectionType() && ty.ElementType().IsPrimitiveType() &&
		ty.ElementType() != cty.Number:
		return false
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, elem := it.Element(); AnyNumber(elem, match) {
			return true
		}
	}
	return false
}
