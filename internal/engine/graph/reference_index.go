package graph

import (
	"iter"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/lang"
)

// units returns the references of each expression and body of the block, without depends_on and
// without a for_each that is just a resource.
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

// computedIndexes returns the computed indexes by which the block reads each resource, and the
// resources in the order of their first reference. Resources of which some expression reads the
// whole are not among them.
func (e *ResourceExprs) computedIndexes() (order []addrs.Resource, indexes map[addrs.Resource][]*lang.Expr) {
	whole := map[addrs.Resource]bool{}
	if e.DependsOn != nil {
		for _, ref := range e.DependsOn.Objects {
			if r, ok := ref.Whole().(addrs.Resource); ok {
				whole[r] = true
			}
		}
	}
	indexes = map[addrs.Resource][]*lang.Expr{}
	if r, chained := e.Repetition.chainedTo(); chained {
		order, indexes[r] = append(order, r), []*lang.Expr{eachKey}
	}
	for refs := range e.units() {
		seen := map[addrs.Resource]bool{}
		for _, ref := range refs.Objects {
			r, ok := ref.Whole().(addrs.Resource)
			if !ok || seen[r] {
				continue
			}
			seen[r] = true
			of, only := refs.ByInstance(r)
			whole[r] = whole[r] || !only
			if len(of.Indexes) > 0 && indexes[r] == nil {
				order = append(order, r)
			}
			indexes[r] = append(indexes[r], of.Indexes...)
		}
	}
	return slices.DeleteFunc(order, func(r addrs.Resource) bool { return whole[r] }), indexes
}

// setIndexed sets the resources that the block reads by a computed index. In a partial run, a
// for_each over a resource is not such a reading: its instances are those that exist in the end.
func (b *build) setIndexed(r *Resource) {
	order, indexes := r.Exprs.computedIndexes()
	chain, chained := r.Exprs.Repetition.chainedTo()
	for _, addr := range order {
		of := r.Module.Resources[addr]
		switch {
		case of == nil, of == r, of.Config == nil, of.Config.Check != nil, addr.Mode == addrs.Ephemeral:
		case !of.Exprs.Repetition.Repeats():
		case chained && chain == addr && (of.Exprs.Repetition.ForEach == nil || b.op.Partial()):
		default:
			r.Indexed = append(r.Indexed, IndexedRead{of, indexes[addr]})
		}
	}
}

// setEachOf notes that the instances of a block are decided before the resource of its for_each is
// complete.
func (c *connector) setEachOf(r *Resource) {
	chain, chained := r.Exprs.Repetition.chainedTo()
	if of := r.Module.Resources[chain]; chained && c.readsByIndex(r.expand, of) {
		r.EachOf = of
	}
}

// readsByIndex reports whether n is the node for the needs of Steps that wait themselves for the
// instances of the resource that they read.
func (c *connector) readsByIndex(n *Node, of *Resource) bool {
	r := n.Resource
	return r != nil && (n == r.Inputs || n == r.expand) && len(c.steps[r]) > 0 &&
		slices.ContainsFunc(r.Indexed, func(read IndexedRead) bool { return read.Of == of })
}
