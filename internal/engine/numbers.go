package engine

import (
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/funcs"
	"tofu/internal/tfdiags"
)

// Some functions give infinite numbers (log(0, 10), pow(0, -1)). JSON has none, so that nothing could be stored of an object or an
// output that has one, and that would come out only after the change was made. And calculating gives two zeros, of which MessagePack
// has one only: what is planned would be another text than what comes back from a plugin or a saved plan.

// storedNumbers gives a value as it is where it is stored, with one zero, and tells where it has a number that can't be stored.
func storedNumbers(v cty.Value) (stored cty.Value, infinite cty.Path, found bool) {
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

// hasOddNumber tells whether storedNumbers has anything to do, which is rare.
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
	case !v.CanIterateElements() || ty.IsCollectionType() && ty.ElementType().IsPrimitiveType() && ty.ElementType() != cty.Number:
		return false
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, elem := it.Element(); hasOddNumber(elem) {
			return true
		}
	}
	return false
}

// unstorable tells whether a number is infinite, or next to it: one whose digits nobody can write down.
func unstorable(v cty.Value) bool {
	f := v.AsBigFloat()
	return f.IsInf() || funcs.LongNumber(f)
}

func negativeZero(v cty.Value) bool {
	f := v.AsBigFloat()
	return f.Sign() == 0 && f.Signbit()
}

func infiniteNumber(path cty.Path) tfdiags.Diagnostic {
	what := "The value"
	if len(path) > 0 {
		what += "'s attribute " + strings.TrimPrefix(tfdiags.FormatPath(path), ".")
	}
	return tfdiags.Errorf("Number is infinite", "%s is an infinite number, or has hundreds of thousands of digits, which can't be stored. Functions such as log and pow give one where there is no finite result.", what)
}
