package reads

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/tfdiags"
)

// Repetition holds the arguments that decide the instances of a block. At most one of them is set.
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

// Deciding returns the argument that decides the value of count or each. It returns nil for references
// to anything else, and if there is no such argument.
func (r Repetition) Deciding(subject addrs.Referenceable) *lang.Expr {
	switch subject.(type) {
	case addrs.CountAttr:
		return r.Count
	case addrs.ForEachAttr:
		return r.ForEach
	}
	return nil
}

// differs reports whether a reference is to count or each, whose values differ between the instances
// of a block.
func differs(subject addrs.Referenceable) bool {
	any := &lang.Expr{}
	return Repetition{Count: any, ForEach: any}.Deciding(subject) != nil
}

// chainedTo returns the resource if the argument has the form for_each = TYPE.NAME. The instances
// of that resource then decide the instances of the block. It returns false for all other
// arguments.
func (r Repetition) chainedTo() (addrs.Resource, bool) {
	of, ok := r.eachOf().(addrs.Resource)
	return of, ok
}

// eachOf returns the object in for_each = OBJECT, or nil for any other repetition.
func (r Repetition) eachOf() addrs.Referenceable {
	if r.ForEach == nil || len(r.ForEach.Refs.Objects) != 1 {
		return nil
	}
	_, plain := r.ForEach.Expression.(*hclsyntax.ScopeTraversalExpr)
	ref := r.ForEach.Refs.Objects[0]
	if !plain || len(ref.Remaining) > 0 {
		return nil
	}
	return ref.Subject
}

// eachKey is the expression each.key.
var eachKey = lang.Analyze(&hclsyntax.ScopeTraversalExpr{
	Traversal: hcl.Traversal{hcl.TraverseRoot{Name: "each"}, hcl.TraverseAttr{Name: "key"}},
}, addrs.ModuleScope)

// CheckSelfReference returns an error for each reference to the resource itself, because the
// resource has no value before its instances are decided.
func (r Repetition) CheckSelfReference(itself addrs.Resource) error {
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

// Repeats reports whether the instances of the block have keys.
func (r Repetition) Repeats() bool { return r.Count != nil || r.ForEach != nil }

// Argument returns the name of the argument that decides the instances, or "" without one.
func (r Repetition) Argument() string {
	switch {
	case r.Count != nil:
		return "count"
	case r.ForEach != nil:
		return "for_each"
	case r.Enabled != nil:
		return "enabled"
	}
	return ""
}

// Matches reports whether a key is of the kind that instances of the block have.
func (r Repetition) Matches(key addrs.InstanceKey) bool {
	_, isInt := key.IsInt()
	_, isString := key.IsString()
	return isInt == (r.Count != nil) && isString == (r.ForEach != nil)
}

func usesRepetition(refs lang.Refs) bool {
	return slices.ContainsFunc(refs.Objects, func(r *addrs.Reference) bool { return differs(r.Subject) })
}
