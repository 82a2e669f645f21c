package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/limits"
	"tofu/internal/tfdiags"
)

const elementSize = 32 // bytes that count for each value, in addition to the bytes of a string

func tooLarge(at hcl.Range) tfdiags.Diagnostic {
	return tfdiags.Errorf("Value too large",
		"Written out, this value would have more than %d MB. Check for values that repeatedly contain other "+
			"values.", limits.Size>>20).At(at)
}

// checkSize reports whether v is small enough. Values share their elements. If each of thirty local
// values contains the previous one twice, the values take a few hundred bytes, but iterating over the
// last one visits a billion elements. The size of each result is therefore checked as soon as it is
// computed. The cost is proportional to the number of values in v.
func checkSize(v cty.Value) bool { return subtractSize(v, limits.Size) >= 0 }

// isChecked reports whether an expression is only a reference to a variable or local value, whose
// size was checked when it was evaluated.
func isChecked(expr hcl.Expression) bool {
	tr, ok := expr.(*hclsyntax.ScopeTraversalExpr)
	return ok && (tr.Traversal.RootName() == "var" || tr.Traversal.RootName() == "local")
}

// subtractSize returns room minus the size of v. It stops counting once the result is negative.
func subtractSize(v cty.Value, room int) int {
	v, _ = v.Unmark()
	room -= elementSize
	ty := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown():
		return room
	case ty == cty.String:
		return room - len(v.AsString())
	case ty.IsObjectType(): // an iterator would first sort the names
		for name := range ty.AttributeTypes() {
			room = subtractSize(v.GetAttr(name), room)
			if room < 0 {
				break
			}
		}
		return room
	case !v.CanIterateElements():
		return room
	}
	for it := v.ElementIterator(); room >= 0 && it.Next(); {
		_, elem := it.Element()
		room = subtractSize(elem, room)
	}
	return room
}
