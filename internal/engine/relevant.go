package engine

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
)

// relevantAttributes returns the resource attributes that planned changes and output values are
// derived from, directly or through variables, locals and module outputs. It follows the references
// in the configuration, whether or not the instances exist. It visits each named value once for
// each module instance, so its cost is linear in the number of references.
func (f finisher) relevantAttributes() []plans.RelevantAttribute {
	w := f.w
	t := newReadTracer(w)
	t.byAttribute = true
	for _, change := range w.out.changes.Instances {
		if change.Action != plans.NoOp {
			t.written(w.graph.Resource(change.Addr.Config()), change.Addr.Module)
		}
	}
	ofProviders := f.valuesOfProviders()
	for _, v := range w.graph.Values {
		if v.Kind != reads.Output {
			continue
		}
		if v.Module == w.graph.Root {
			if change := w.out.changes.Output(v.Name); change != nil && change.Action != plans.NoOp {
				t.value(v, addrs.RootInstance)
			}
			continue
		}
		if w.failed[v.Node.ID] || w.op.Phase.Destroys() && !ofProviders[v.Node.ID] {
			continue
		}
		for _, in := range w.modules.of(v.Module) {
			if val := in.values[v.Slot]; !in.unknown && !v.Node.Dropped && val != cty.NilVal && !unmark(val).IsNull() {
				t.value(v, in.addr)
			}
		}
	}
	return sortedAttributes(t.found)
}

// valuesOfProviders reports for each node, by ID, whether provider configurations are derived from
// its value. Only these values matter in a destroy plan. For other plans, it returns nil.
func (f finisher) valuesOfProviders() []bool {
	w := f.w
	if !w.op.Phase.Destroys() {
		return nil
	}
	var from []dag.ID
	for _, p := range w.graph.Providers {
		from = append(from, p.Node.ID)
	}
	return w.graph.Edges.ReachThrough(func(id dag.ID) bool { return w.graph.Nodes[id].Kind.IsValue() }, from...)
}

type tracedAttribute struct {
	r    *reads.Resource
	at   addrs.ModuleInstance
	name string
}

// written follows the references of a resource block in one module instance. References in count and
// for_each are followed only if the block uses count or each.
func (t *readTracer) written(r *reads.Resource, at addrs.ModuleInstance) {
	if r == nil || r.Config == nil || r.Exprs.Body == nil || t.blocks[tracedBlock{r, at}] {
		return
	}
	t.blocks[tracedBlock{r, at}] = true
	body := r.Exprs.Body
	if generated := t.w.generated.bodies[r]; generated != nil {
		body = generated
	}
	t.refs(&body.Refs, fromBlock(r, at))
}

// attribute follows the references of the attribute that rest selects in a resource block. If rest
// selects no attribute, it follows the references of the whole block.
func (t *readTracer) attribute(r *reads.Resource, at addrs.ModuleInstance, rest hcl.Traversal) {
	if r == nil || r.Config == nil || r.Exprs.Body == nil {
		return
	}
	if len(rest) == 0 {
		t.written(r, at)
		return
	}
	step, ok := rest[0].(hcl.TraverseAttr)
	if !ok || t.attrs[tracedAttribute{r, at, step.Name}] {
		return
	}
	t.attrs[tracedAttribute{r, at, step.Name}] = true
	content, _, _ := r.Config.Config.PartialContent(
		&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: step.Name}}})
	if content == nil || content.Attributes[step.Name] == nil {
		return
	}
	if e := t.w.op.Known.Expr(content.Attributes[step.Name].Expr); e != nil {
		t.refs(&e.Refs, fromBlock(r, at))
	}
}

// pathOf returns the steps of a traversal as a path.
func pathOf(steps hcl.Traversal) cty.Path {
	var path cty.Path
	for _, step := range steps {
		switch step := step.(type) {
		case hcl.TraverseAttr:
			path = path.GetAttr(step.Name)
		case hcl.TraverseIndex:
			path = path.Index(step.Key)
		}
	}
	return path
}
