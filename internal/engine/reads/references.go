package reads

import (
	"iter"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/lang"
)

// Units returns the references of each expression and body of the block. It leaves out depends_on,
// and a for_each that is only a reference to a resource.
func (e *ResourceExprs) Units() iter.Seq[*lang.Refs] {
	return func(yield func(*lang.Refs) bool) {
		var all []*lang.Refs
		if _, chained := e.Repetition.chainedTo(); !chained {
			all = e.Repetition.Refs()
		}
		if e.Body != nil {
			all = append(all, &e.Body.Refs)
		}
		for _, rule := range slices.Concat(e.Preconditions, e.Postconditions) {
			all = append(all, &rule.Condition.Refs, &rule.Message.Refs)
		}
		for _, meta := range e.MetaArguments() {
			all = append(all, &meta.Refs)
		}
		for _, p := range e.Provisioners {
			for _, body := range p.Bodies() {
				all = append(all, &body.Refs)
			}
		}
		all = append(all, e.ActionRefs...)
		for _, refs := range all {
			if refs != nil && !yield(refs) {
				return
			}
		}
	}
}

// MetaArgument is an expression of a block that the engine evaluates itself, other than those that
// decide the block's instances and its conditions.
type MetaArgument struct {
	*lang.Expr
	Once  bool // evaluated once for all instances, also when their destruction is planned
	Check func(m *Module, e *lang.Expr) error
}

// MetaArguments returns the meta-arguments of the block.
func (e *ResourceExprs) MetaArguments() []MetaArgument {
	var out []MetaArgument
	for _, t := range e.Triggers {
		out = append(out, MetaArgument{Expr: t, Check: checkTrigger})
	}
	if e.PreventDestroy != nil {
		out = append(out, MetaArgument{Expr: e.PreventDestroy, Once: true, Check: checkPreventDestroy})
	}
	return out
}

// readOnce returns the references of each expression that is evaluated once for all instances of a block:
// those that decide its instances and imports and the key of its provider, and meta-arguments.
func (r *Resource) readOnce(imports []*Import) iter.Seq[*lang.Refs] {
	all := r.Exprs.Repetition.Refs()
	for _, t := range imports {
		for _, e := range t.Exprs() {
			all = append(all, &e.Refs)
		}
	}
	for _, meta := range r.Exprs.MetaArguments() {
		if meta.Once {
			all = append(all, &meta.Refs)
		}
	}
	if r.ProviderKey != nil && r.ProviderKey.Module == r.Module {
		all = append(all, &r.ProviderKey.Expr.Refs)
	}
	return slices.Values(all)
}

// References returns the references of each expression and body of the block, including depends_on.
func (e *ResourceExprs) References() iter.Seq[*lang.Refs] {
	return func(yield func(*lang.Refs) bool) {
		if _, chained := e.Repetition.chainedTo(); chained && !yield(&e.Repetition.ForEach.Refs) {
			return
		}
		for refs := range e.Units() {
			if !yield(refs) {
				return
			}
		}
		if e.DependsOn != nil {
			yield(e.DependsOn)
		}
	}
}

// instancesRead returns the references with which the block reads instances of other resources, and
// the resources in the order of their first reference. It omits resources that some expression
// reads as a whole. If single is false, a key in depends_on means the whole resource.
func (e *ResourceExprs) instancesRead(single bool) (order []addrs.Resource, refs map[addrs.Resource]lang.Instances) {
	whole := map[addrs.Resource]bool{}
	refs = map[addrs.Resource]lang.Instances{}
	if e.DependsOn != nil {
		for _, ref := range e.DependsOn.Objects {
			r, ok := ref.Whole().(addrs.Resource)
			one, keyed := ref.Subject.(addrs.ResourceInstance)
			switch {
			case keyed && single:
				if refs[r] == nil {
					order = append(order, r)
				}
				refs[r] = append(refs[r], lang.InstanceRef{Key: one.Key, Range: ref.Range})
			case ok:
				whole[r] = true
			}
		}
	}
	if r, chained := e.Repetition.chainedTo(); chained {
		if refs[r] == nil {
			order = append(order, r)
		}
		refs[r] = append(refs[r], lang.InstanceRef{Index: eachKey})
	}
	for unit := range e.Units() {
		seen := map[addrs.Resource]bool{}
		for _, ref := range unit.Objects {
			r, ok := ref.Whole().(addrs.Resource)
			if !ok || seen[r] {
				continue
			}
			seen[r] = true
			of, only := unit.ByInstance(r)
			whole[r] = whole[r] || !only
			if only && refs[r] == nil {
				order = append(order, r)
			}
			refs[r] = append(refs[r], of...)
		}
	}
	return slices.DeleteFunc(order, func(r addrs.Resource) bool { return whole[r] }), refs
}

// ownInstances returns the references of the block to instances of its own resource. Such
// references cannot occur in for_each or count.
func (e *ResourceExprs) ownInstances(itself addrs.Resource) lang.Instances {
	var out lang.Instances
	for unit := range e.Units() {
		out = append(out, unit.SelectedInstances(itself)...)
	}
	return out
}

// ReadsEachValue reports whether an argument of a module call uses each.value.
func (v *Value) ReadsEachValue() bool {
	return v.Expr != nil && slices.ContainsFunc(v.Expr.Refs.Objects, func(ref *addrs.Reference) bool {
		return ref.Subject == addrs.ForEachAttr{Name: "value"}
	})
}

// Bodies returns the bodies that are evaluated for a provisioner.
func (p *Provisioner) Bodies() []*lang.Body {
	switch {
	case p.Body == nil:
		return nil
	case p.Connection == nil:
		return []*lang.Body{p.Body}
	}
	return []*lang.Body{p.Body, p.Connection}
}
