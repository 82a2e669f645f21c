package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/tfdiags"
)

// Values share what they are made of, so that thirty local values, each of which has the one before twice, take a few hundred bytes until
// somebody walks over a billion elements. What an expression gives is therefore weighed at once, and refused when it is beyond all use.
const (
	maxWeight     = 1 << 28 // about as many bytes written out
	elementWeight = 32      // of anything, besides the bytes of text
)

func tooLarge(at hcl.Range) tfdiags.Diagnostic {
	return tfdiags.Errorf("Value too large", "Written out, this value would take more than %d MB. Look for values that are repeated in one another.", maxWeight>>20).At(at)
}

// isWeighed tells whether an expression only names a variable or local value, or a part of one: what a module has once, many may refer
// to, and it was weighed when it was made.
func isWeighed(expr hcl.Expression) bool {
	tr, ok := expr.(*hclsyntax.ScopeTraversalExpr)
	return ok && (tr.Traversal.RootName() == "var" || tr.Traversal.RootName() == "local")
}

// weigh takes the weight of a value from the room there is, and stops when there is none left. The cost is that of one look at each
// element, and nothing for numbers and flags.
func weigh(v cty.Value, room int) int {
	v, _ = v.Unmark()
	room -= elementWeight
	ty := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown():
		return room
	case ty == cty.String:
		return room - len(v.AsString())
	case ty.IsObjectType(): // an iterator would sort the names
		for name := range ty.AttributeTypes() {
			if room = weigh(v.GetAttr(name), room); room < 0 {
				break
			}
		}
		return room
	case !v.CanIterateElements():
		return room
	}
	for it := v.ElementIterator(); room >= 0 && it.Next(); {
		_, elem := it.Element()
		room = weigh(elem, room)
	}
	return room
}
