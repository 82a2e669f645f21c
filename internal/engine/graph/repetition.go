package graph

import (
	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/tfdiags"
)

// Repetition holds the arguments that decide the instances of a block; at most one is set.
type Repetition struct {
	Count, ForEach, Enabled *lang.Expr
}

// Refs returns the references of the arguments.
func (r Repetition) Refs() []*lang.Refs {
	var out []*lang.Refs
	for _, e := range []*lang.Expr{r.Count, r.ForEach, r.Enabled} {
		if e != nil {
			out = append(out, &e.Refs)
		}
	}
	return out
}

// checkSelfReference returns an error for each reference to the resource itself: it has no value
// before its instances are decided.
func (r Repetition) checkSelfReference(itself addrs.Resource) error {
	var errs tfdiags.Diagnostics
	for _, refs := range r.Refs() {
		for _, ref := range refs.Objects {
			if ref.Whole() == addrs.Referenceable(itself) {
				errs = errs.Append(tfdiags.Errorf("Self-referential block",
					"The arguments that decide the instances of %s can't refer to the resource itself.",
					itself).At(ref.Range))
			}
		}
	}
	return errs.Err()
}

// Repeats reports whether instances have keys.
func (r Repetition) Repeats() bool { return r.Count != nil || r.ForEach != nil }

// Matches reports whether a key is of the kind that instances of the block have.
func (r Repetition) Matches(key addrs.InstanceKey) bool {
	_, isInt := key.IsInt()
	_, isString := key.IsString()
	return isInt == (r.Count != nil) && isString == (r.ForEach != nil)
}
