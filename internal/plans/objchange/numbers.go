package objchange

import (
	"math/big"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/coerce"
)

// StorableNumbers returns v in a form that can be stored. Negative zero becomes zero, because
// MessagePack has only one zero, and planned and returned values must be equal. If v contains a
// number that can't be stored, StorableNumbers also returns the path of that number. Such a number
// has too many digits or is infinite. Functions such as log(0, 10) return infinite numbers, which
// JSON can't express.
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

// oddNumber reports whether StorableNumbers must change or refuse a number, which is rare.
func oddNumber(f *big.Float) bool { return unstorable(f) || negativeZero(f) }

// unstorable reports whether a number is infinite or has too many digits.
func unstorable(f *big.Float) bool { return f.IsInf() || coerce.LongNumber(f) }

func negativeZero(f *big.Float) bool { return f.Sign() == 0 && f.Signbit() }
