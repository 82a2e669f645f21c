package objchange

import (
	"math/big"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/coerce"
)

// StorableNumbers returns v in a form that can be stored. Negative zero becomes zero, because
// MessagePack has only one zero, and planned and returned values must be equal. If v contains a
// number that cannot be stored at all, its path is returned too. Such a number is infinite or has
// an excessive number of digits. JSON cannot express infinite numbers, which functions such as
// log(0, 10) return.
func StorableNumbers(v cty.Value) (stored cty.Value, infinite cty.Path, found bool) {
	if !coerce.AnyNumber(v, oddNumber) {
		return v, nil, false
	}
	stored, _ = cty.Transform(v, func(path cty.Path, v cty.Value) (cty.Value, error) {
		bare, marks := v.Unmark()
		switch {
		case bare.Type() != cty.Number || bare.IsNull() || !bare.IsKnown():
		case unstorable(bare.AsBigFloat()) && !found:
			infinite, found = path.Copy(), true
		case negativeZero(bare.AsBigFloat()):
			return cty.Zero.WithMarks(marks), nil
		}
		return v, nil
	})
	return stored, infinite, found
}

// oddNumber reports whether StorableNumbers has anything to do with a number. This is rare.
func oddNumber(f *big.Float) bool { return unstorable(f) || negativeZero(f) }

// unstorable reports whether a number is infinite or has too many digits to be written down.
func unstorable(f *big.Float) bool { return f.IsInf() || coerce.LongNumber(f) }

func negativeZero(f *big.Float) bool { return f.Sign() == 0 && f.Signbit() }
