package graph

import (
	"iter"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/lang"
)

// units returns the references of each expression and body of the block. It leaves out depends_on,
// and a for_each that is only a reference to a resource.
func (e *ResourceExprs) units() iter.Seq[*lang.Refs] {
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
		for _, t := range e.Triggers {
			all = append(all, &t.Refs)
		}
		if e.PreventDestroy != nil {
			all = append(all, &e.PreventDestroy.Refs)
		}
		for _, p := range e.Provisioners {
			for _, body := range p.bodies() {
				all = append(all, &body.Refs)
			}
		}
		for _, refs := range all {
			if refs != nil && !yield(refs) {
				return
			}
		}
	}
}

// References returns the references of each expression and body of the block, including depends_on.
func (e *ResourceExprs) References() iter.Seq[*lang.Refs] {
	return func(yield func(*lang.Refs) bool) {
		if _, chained := e.Repetition.chainedTo(); chained && !yield(&e.Repetition.ForEach.Refs) {
			return
		}
		for refs := range e.units() {
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
// reads as a whole.
func (e *ResourceExprs) instancesRead() (order []addrs.Resource, refs map[addrs.Resource]lang.Instances) {
	whole := map[addrs.Resource]bool{}
	if e.DependsOn != nil {
		for _, ref := range e.DependsOn.Objects {
			if r, ok := ref.Whole().(addrs.Resource); ok {
				whole[r] = true
			}
		}
	}
	refs = map[addrs.Resource]lang.Instances{}
	if r, chained := e.Repetition.chainedTo(); chained {
		order, refs[r] = append(order, r), lang.Instances{{Index: eachKey}}
	}
	for unit := range e.units() {
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
	for unit := range e.units() {
		out = append(out, unit.SelectedInstances(itself)...)
	}
	return out
}

// setOwn records the references of a block to instances of its own resource.
func (r *Resource) setOwn() {
	if own := r.Exprs.ownInstances(r.Addr.Resource); len(own) > 0 && r.Exprs.Repetition.Repeats() {
		r.Indexed = append(r.Indexed, IndexedRead{Of: r, Refs: own})
	}
}

// setIndexed records the resources and aliases that the block reads only by instance: in Indexed
// or, if all keys are constant, in Constant. It also sets Awaited. In a partial run, it ignores a
// for_each over a resource, because the block's instances are then those that exist at the end of
// the run.
func (b *build) setIndexed(r *Resource) {
	r.setOwn()
	order, refs := r.Exprs.instancesRead()
	chain, chained := r.Exprs.Repetition.chainedTo()
	for _, addr := range order {
		of := r.Module.Resources[addr]
		switch {
		case of == nil, of == r, of.Config == nil, of.Config.Check != nil:
			continue
		case !of.Exprs.Repetition.Repeats():
			continue
		case chained && chain == addr && (of.Exprs.Repetition.ForEach == nil || b.op.Partial()):
			continue
		}
		read := IndexedRead{Of: of, Refs: refs[addr]}
		switch {
		case !read.Refs.Computed(): // the graph of an apply has Barriers for constant keys
			r.Constant = append(r.Constant, read)
		case r.Exprs.repeatsWith(addr):
			continue // the instances are decided before any Step could wait for what decides them
		default:
			r.Indexed = append(r.Indexed, read)
			b.instances.keyedResources[of] = true
		}
		if b.op.ByInstance && !b.op.Partial() && b.awaits(r, read) {
			r.Awaited = append(r.Awaited, read)
		}
	}
	for _, read := range b.aliasReads(r) {
		r.Indexed = append(r.Indexed, read)
		b.instances.keyedResources[read.Of] = true
		if b.op.ByInstance && b.awaits(r, read) {
			r.Awaited = append(r.Awaited, read)
		}
	}
}

// repeatsWith reports whether the count, for_each or enabled of a block refers to a resource, other
// than in for_each = TYPE.NAME.
func (e *ResourceExprs) repeatsWith(of addrs.Resource) bool {
	if chain, chained := e.Repetition.chainedTo(); chained && chain == of {
		return false
	}
	return slices.ContainsFunc(e.Repetition.Refs(), func(refs *lang.Refs) bool { return refs.Name(of) })
}

// setEachOf sets EachOf of a block if an apply decides the block's instances before the resource in
// its for_each is complete.
func (c *connector) setEachOf(r *Resource) {
	read := r.ChainedTo()
	switch {
	case read == nil:
	case read.Via == nil && c.readsByIndex(r.expand, read.Of), read.Via != nil && c.readsByKey(r.expand, read.Via):
		r.EachOf = read
	}
}

// setModuleEachOf finds the module calls whose instances an apply decides before the resource in their
// for_each is complete. Arguments that use each.value then wait for the instance with the same key.
func (c *connector) setModuleEachOf() {
	if c.op.Phase != PhaseApply || c.op.Partial() || c.op.Early == nil {
		return
	}
	usesEach := map[*Module]bool{} // modules whose provider keys use each
	for _, r := range c.g.Resources {
		if key := r.ProviderKey; key != nil && key.Call != "" {
			usesEach[key.Module.Calls[key.Call]] = true
		}
	}
	for _, m := range c.g.Modules {
		read := m.ChainedTo()
		if read == nil || usesEach[m] {
			continue
		}
		of := read.Of
		if of.Config.Check != nil || of.Addr.Resource.Mode == addrs.Ephemeral || !c.ordered(of) {
			continue
		}
		m.EachOf, c.instances.keyedResources[of] = read, true
	}
	c.setModuleEachCall(usesEach)
}

// ReadsEachValue reports whether an argument of a module call uses each.value.
func (v *Value) ReadsEachValue() bool {
	return v.Expr != nil && slices.ContainsFunc(v.Expr.Refs.Objects, func(ref *addrs.Reference) bool {
		return ref.Subject == addrs.ForEachAttr{Name: "value"}
	})
}

// readsByIndex reports whether n belongs to a block whose instances wait for single instances of a
// resource by computed index. n itself, which only precedes them, then needn't wait for the whole
// resource.
func (c *connector) readsByIndex(n *Node, of *Resource) bool {
	r := n.Resource
	return r != nil && of != r && (n == r.Inputs || n == r.expand) && c.ordered(r) &&
		slices.ContainsFunc(r.Indexed, func(read IndexedRead) bool { return read.Of == of && read.Via == nil })
}

// readsByKey reports whether n belongs to a block whose instances wait for single elements of the
// alias v. n itself, which only precedes them, then needn't wait for the whole alias.
func (c *connector) readsByKey(n *Node, v *Value) bool {
	r := n.Resource
	return v.Alias != nil && r != nil && (n == r.Inputs || n == r.expand) && c.ordered(r) &&
		slices.ContainsFunc(r.Indexed, func(read IndexedRead) bool { return read.Via == v })
}

// afterElements makes n wait until it is decided which elements the alias v has. n doesn't wait for the
// values of the elements.
func (c *connector) afterElements(n *Node, v *Value) {
	c.after(n, c.instances.indexedNode(v.Alias.Of))
	c.after(n, IndexedRead{Via: v}.expansions()...)
}

// connectValueRef makes n wait for what a reference to a value reads.
func (c *connector) connectValueRef(n *Node, v *Value) {
	switch {
	case c.readsByKey(n, v):
		c.afterElements(n, v)
	case c.readsVia(n, v):
		call := v.CallAlias().Call
		c.after(n, call.expand)
		c.later[n] = append(c.later[n], laterEdge{call, v.Node})
	case !c.connectConstant(n, v):
		c.after(n, v.Node)
	}
}
