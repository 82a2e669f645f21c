package engine

import (
	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/tfdiags"
)

// repetitionExprs are the arguments that repeat a block; at most one is set.
type repetitionExprs struct {
	count, forEach, enabled *lang.Expr
}

// refs are what the arguments refer to.
func (r repetitionExprs) refs() []*lang.Refs {
	var out []*lang.Refs
	for _, e := range []*lang.Expr{r.count, r.forEach, r.enabled} {
		if e != nil {
			out = append(out, &e.Refs)
		}
	}
	return out
}

// refuse refuses arguments that refer to the resource that they repeat: it has no value before its instances are decided.
func (r repetitionExprs) refuse(itself addrs.Resource) (diags tfdiags.Diagnostics) {
	for _, refs := range r.refs() {
		for _, ref := range refs.Objects {
			if ref.Whole() == addrs.Referenceable(itself) {
				diags = diags.Append(tfdiags.Errorf("Self-referential block",
					"Which instances of %s there are can't depend on the resource itself.", itself).At(ref.Range))
			}
		}
	}
	return diags
}

// repeats tells whether instances have keys.
func (r repetitionExprs) repeats() bool { return r.count != nil || r.forEach != nil }

// fits tells whether a key is of the kind that the repetition gives.
func (r repetitionExprs) fits(key addrs.InstanceKey) bool {
	_, isInt := key.IsInt()
	_, isString := key.IsString()
	return isInt == (r.count != nil) && isString == (r.forEach != nil)
}
