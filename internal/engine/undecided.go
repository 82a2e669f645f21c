package engine

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
)

// setUndecided finds the root outputs whose planned values are unknown because of deferred changes.
// Other unknown outputs get their values when the plan is applied.
//
// It follows the references in an output's expression through local values, module arguments and
// module outputs to resource instances. If only a part of an object constructor is selected, it
// follows only that part. The result of a function or a "for" expression is assumed to depend on
// all of its operands.
func (f finisher) setUndecided() {
	w := f.w
	if len(w.out.deferred)+len(w.deferrals.modules) == 0 {
		return
	}
	d := &deferralFinder{instances: map[addrs.AbsInstance]bool{}, resources: map[addrs.AbsResource]bool{},
		found: map[valuePart]bool{}, parts: map[hcl.Expression]*lang.Expr{}}
	for _, c := range w.out.deferred {
		if c.Action != plans.Delete {
			d.instances[c.Addr], d.resources[c.Addr.Abs()] = true, true
			d.providers = d.providers || c.Why == plans.DeferredProvider
		}
	}
	root := w.modules.of(w.graph.Root)[0]
	for _, o := range w.out.changes.Outputs {
		after, _ := o.After.UnmarkDeep()
		o.Undecided = !after.IsWhollyKnown() && d.value(w.graph.Root.Outputs[o.Name], root, nil)
	}
}

// deferralFinder finds out whether unknown values depend on deferred changes.
type deferralFinder struct {
	instances map[addrs.AbsInstance]bool    // deferred instances
	resources map[addrs.AbsResource]bool    // resources with deferred instances
	providers bool                          // a provider is deferred
	found     map[valuePart]bool            // results
	parts     map[hcl.Expression]*lang.Expr // analyzed parts of expressions
}

// valuePart is a value in a module instance, or the part of it that steps select.
type valuePart struct {
	value *reads.Value
	in    *moduleInstance
	steps string
}

// exprScope says where an expression is evaluated.
type exprScope struct {
	in   *moduleInstance
	call *moduleInstance // the instance whose arguments contain the expression; may be nil
}

// value reports whether the part of a value that steps select is unknown because of a deferred
// change. If v is nil, it returns false.
func (d *deferralFinder) value(v *reads.Value, in *moduleInstance, steps hcl.Traversal) bool {
	if v == nil {
		return false
	}
	text, plain := addrs.StepsText(steps)
	if !plain {
		steps = nil
	}
	key := valuePart{v, in, text}
	if found, done := d.found[key]; done {
		return found
	}
	d.found[key] = false
	if isKnownAt(in.values[v.Slot], steps) {
		return false
	}
	at := exprScope{in: in}
	if v.Kind == reads.Variable {
		at = exprScope{in: in.parent, call: in}
	}
	if at.in != nil { // a root variable has no expression
		d.found[key] = d.expr(v.Expr, at, steps)
	}
	return d.found[key]
}

// expr is like value, for the value of an expression. e may be nil.
func (d *deferralFinder) expr(e *lang.Expr, at exprScope, steps hcl.Traversal) bool {
	if e == nil {
		return false
	}
	part, rest := selectPart(e.Expression, steps)
	if part != e.Expression {
		if d.parts[part] == nil {
			d.parts[part] = lang.Analyze(part, addrs.ModuleScope)
		}
		e = d.parts[part]
	}
	if _, direct := part.(*hclsyntax.ScopeTraversalExpr); !direct {
		rest = nil
	}
	return d.providers && len(e.Refs.Functions) > 0 ||
		slices.ContainsFunc(e.Refs.Objects, func(ref *addrs.Reference) bool { return d.reference(ref, at, rest) })
}

// reference is like value, for the object of a reference.
func (d *deferralFinder) reference(ref *addrs.Reference, at exprScope, more hcl.Traversal) bool {
	steps := slices.Concat(ref.Remaining, more)
	switch of := at.in.module.Named(ref.Subject); {
	case of.Resource != nil && of.Key != addrs.NoKey:
		return d.instance(addrs.ResourceInstance{Resource: of.Resource.Addr.Resource, Key: of.Key}, at.in, steps)
	case of.Resource != nil:
		return d.resource(of.Resource.Addr.Resource, at.in, steps)
	case of.Call != nil:
		return d.outputs(of, at.in, steps)
	case of.Value != nil:
		return d.value(of.Value, at.in, steps)
	case at.call == nil || ref.Subject != addrs.ForEachAttr{Name: "value"}:
		return false
	}
	_, last := at.call.addr.Parent()
	each := hcl.Traversal{hcl.TraverseIndex{Key: last.Key.Value()}}
	return d.expr(at.call.module.Repetition.ForEach, exprScope{in: at.in}, append(each, steps...))
}

// resource is like value, for a resource with any number of instances.
func (d *deferralFinder) resource(r addrs.Resource, in *moduleInstance, steps hcl.Traversal) bool {
	if !d.resources[r.InInstance(in.addr)] {
		return false
	}
	x := in.resources[in.module.Resources[r].Slot]
	switch {
	case x == nil || x.mode == repeatUnknown:
		return true
	case x.mode == repeatSingle:
		return d.instance(addrs.ResourceInstance{Resource: r}, in, steps)
	case len(steps) > 0:
		if index, ok := steps[0].(hcl.TraverseIndex); ok {
			if key, err := addrs.KeyFromValue(index.Key); err == nil {
				return d.instance(addrs.ResourceInstance{Resource: r, Key: key}, in, steps[1:])
			}
		}
	}
	return true
}

// instance is like value, for a resource instance.
func (d *deferralFinder) instance(i addrs.ResourceInstance, in *moduleInstance, steps hcl.Traversal) bool {
	addr := i.Resource.InInstance(in.addr)
	if d.instances[addr.Instance(addrs.UnknownKey)] {
		return true
	}
	if !d.instances[addr.Instance(i.Key)] {
		return false
	}
	x := in.resources[in.module.Resources[i.Resource].Slot]
	at, exists := x.has(i.Key)
	return !exists || !isKnownAt(x.objs[at], steps)
}

// outputs is like value, for the outputs of a module call that a reference reads. Without a key, it
// considers all instances of the call.
func (d *deferralFinder) outputs(of reads.Named, in *moduleInstance, steps hcl.Traversal) bool {
	instances := in.calls[of.Call.CallSlot]
	switch {
	case instances == nil:
		return false
	case instances.mode == repeatUnknown:
		return true
	case of.Value == nil:
		steps = nil
	}
	for i, child := range instances.of {
		if of.Key != addrs.NoKey && instances.keys[i] != of.Key {
			continue
		}
		for _, v := range of.Outputs() {
			if d.value(v, child, steps) {
				return true
			}
		}
	}
	return false
}

// selectPart follows steps into object and tuple constructors. It returns the selected expression,
// and the steps that are left.
func selectPart(expr hcl.Expression, steps hcl.Traversal) (hcl.Expression, hcl.Traversal) {
	for len(steps) > 0 {
		var next hcl.Expression
		switch e := expr.(type) {
		case *hclsyntax.ParenthesesExpr:
			expr = e.Expression
			continue
		case *hclsyntax.ObjectConsExpr:
			next = itemOf(e, stepName(steps[0]))
		case *hclsyntax.TupleConsExpr:
			if index, ok := steps[0].(hcl.TraverseIndex); ok {
				if key, err := addrs.KeyFromValue(index.Key); err == nil {
					if i, number := key.IsInt(); number && i < len(e.Exprs) {
						next = e.Exprs[i]
					}
				}
			}
		}
		if next == nil {
			break
		}
		expr, steps = next, steps[1:]
	}
	return expr, steps
}

// stepName returns the name of the attribute that a step selects, or "".
func stepName(step hcl.Traverser) string {
	switch s := step.(type) {
	case hcl.TraverseAttr:
		return s.Name
	case hcl.TraverseIndex:
		if s.Key.Type() == cty.String && s.Key.IsKnown() && !s.Key.IsNull() {
			return s.Key.AsString()
		}
	}
	return ""
}

// itemOf returns the expression of the item called name in an object constructor. It returns nil if
// there is no such item, or if a key is not constant.
func itemOf(e *hclsyntax.ObjectConsExpr, name string) (found hcl.Expression) {
	for _, item := range e.Items {
		key, diags := item.KeyExpr.Value(nil)
		if diags.HasErrors() || key.Type() != cty.String || !key.IsKnown() || key.IsNull() {
			return nil
		}
		if key.AsString() == name {
			found = item.ValueExpr // if several items have the key, the last one counts
		}
	}
	return found
}

// isKnownAt reports whether the part of a value that steps select is known.
func isKnownAt(v cty.Value, steps hcl.Traversal) bool {
	if v == cty.NilVal {
		return false
	}
	if len(steps) > 0 {
		part, diags := steps.TraverseRel(v)
		if diags.HasErrors() {
			return false
		}
		v = part
	}
	v, _ = v.UnmarkDeep()
	return v.IsWhollyKnown()
}
