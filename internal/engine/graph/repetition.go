package graph

import (
	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/tfdiags"
)

// repetitionExprs are the arguments that repeat a block; at most one is set.
type Repetition struct {
	Count, ForEach, Enabled *lang.Expr
}

// refs are what the arguments refer to.
func (r Repetition) Refs() []*lang.Refs {
	var out []*lang.Refs
	for _, e := range []*lang.Expr{r.Count, r.ForEach, r.Enabled} {
		if e != nil {
			out = append(out, &e.Refs)
		}
	}
	return out
}

// refuse refuses arguments that refer to the resource that they repeat: it has no value before its instances are decided.
func (r Repetition) checkSelfReference(itself addrs.Resource) (diags tfdiags.Diagnostics) {
	for _, refs := range r.Refs() {
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
func (r Repetition) Repeats() bool { return r.Count != nil || r.ForEach != nil }

// fits tells whether a key is of the kind that the repetition gives.
func (r Repetition) Matches(key addrs.InstanceKey) bool {
	_, isInt := key.IsInt()
	_, isString := key.IsString()
	return isInt == (r.Count != nil) && isString == (r.ForEach != nil)
}
