package engine

import (
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/funcs"
	"tofu/internal/tfdiags"
)

// Some functions give infinite numbers (log(0, 10), pow(0, -1)). JSON has none, so that nothing could be stored of an object or an
// output that has one, and that would come out only after the change was made.

// infinite finds the first infinite number in a value.
func infinite(v cty.Value) (cty.Path, bool) {
	if !hasInfinite(v) {
		return nil, false
	}
	var at cty.Path
	found := false
	v, _ = v.UnmarkDeep()
	_ = cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.Number && v.IsKnown() && !v.IsNull() && unstorable(v) && !found {
			at, found = path.Copy(), true
		}
		return !found, nil
	})
	return at, found
}

// hasInfinite is infinite without the place, which nobody asks for as a rule.
func hasInfinite(v cty.Value) bool {
	v, _ = v.Unmark()
	ty := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown():
		return false
	case ty.IsPrimitiveType():
		return ty == cty.Number && unstorable(v)
	case ty.IsObjectType():
		for name := range ty.AttributeTypes() {
			if hasInfinite(v.GetAttr(name)) {
				return true
			}
		}
		return false
	case !v.CanIterateElements() || ty.IsCollectionType() && ty.ElementType().IsPrimitiveType() && ty.ElementType() != cty.Number:
		return false
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, elem := it.Element(); hasInfinite(elem) {
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

func infiniteNumber(path cty.Path) tfdiags.Diagnostic {
	what := "The value"
	if len(path) > 0 {
		what += "'s attribute " + strings.TrimPrefix(tfdiags.FormatPath(path), ".")
	}
	return tfdiags.Errorf("Number is infinite", "%s is an infinite number, or has hundreds of thousands of digits, which can't be stored. Functions such as log and pow give one where there is no finite result.", what)
}
