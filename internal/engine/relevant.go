package engine

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// relevantAttributes returns the resource attributes that planned changes and output values are
// derived from, directly or through variables, locals and module outputs. It follows the references
// in the configuration, whether or not the instances exist. It visits each named value once for
// each module instance, so its cost is linear in the number of references.
func (f finisher) relevantAttributes() []plans.RelevantAttribute {
	w := f.w
	t := &tracer{w: w, attrs: map[tracedAttribute]bool{}, seen: map[tracedValue]bool{},
		found:  map[string]plans.RelevantAttribute{},
		blocks: map[*reads.Resource]map[addrs.ModuleInstance]bool{}, exprs: w.op.Known}
	for _, change := range w.out.changes.Instances {
		if change.Action != plans.NoOp {
			t.resource(w.graph.Resource(change.Addr.Config()), change.Addr.Module)
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

type tracedValue struct {
	v  *reads.Value
	at addrs.ModuleInstance
}

type tracedAttribute struct {
	r    *reads.Resource
	at   addrs.ModuleInstance
	name string
}

type tracer struct {
	w      *walk
	attrs  map[tracedAttribute]bool
	seen   map[tracedValue]bool
	blocks map[*reads.Resource]map[addrs.ModuleInstance]bool
	found  map[string]plans.RelevantAttribute
	exprs  *graph.Known // caches the references of single attributes
}

// resource follows the references of a resource block in one module instance. References in count
// and for_each are followed only if the block uses count or each.
func (t *tracer) resource(r *reads.Resource, at addrs.ModuleInstance) {
	if r == nil || r.Config == nil || r.Exprs.Body == nil || t.blocks[r][at] {
		return
	}
	body := r.Exprs.Body
	if generated := t.w.generated.bodies[r]; generated != nil {
		body = generated
	}
	if t.blocks[r] == nil {
		t.blocks[r] = map[addrs.ModuleInstance]bool{}
	}
	t.blocks[r][at] = true
	t.refs(body.Refs, r.Module, at, r.Exprs.Repetition)
}

func (t *tracer) value(v *reads.Value, at addrs.ModuleInstance) {
	key := tracedValue{v, at}
	if v == nil || v.Expr == nil || t.seen[key] {
		return
	}
	t.seen[key] = true
	if v.Kind != reads.Variable {
		t.refs(v.Expr.Refs, v.Module, at, reads.Repetition{})
		return
	}
	if v.Module.Parent != nil {
		parent, _ := at.Parent()
		t.refs(v.Expr.Refs, v.Module.Parent, parent, reads.Repetition{})
	}
}

// refs follows references in a module instance. rep resolves count and each.
func (t *tracer) refs(refs lang.Refs, m *reads.Module, at addrs.ModuleInstance, rep reads.Repetition) {
	for _, ref := range refs.Objects {
		switch of := m.Named(ref.Subject); {
		case of.Resource != nil:
			target := addrs.Target{Module: at, Resource: of.Resource.Addr.Resource, Key: of.Key, HasKey: of.Key != addrs.NoKey}
			t.add(target, ref.Remaining)
			t.attribute(of.Resource, at, ref.Remaining)
		case of.Call != nil:
			for _, output := range of.Outputs() {
				t.value(output, at.Child(of.Call.Call.Name, of.Key))
			}
		case of.Value != nil:
			t.value(of.Value, at)
		default:
			if decides := rep.Deciding(ref.Subject); decides != nil {
				t.refs(decides.Refs, m, at, reads.Repetition{})
			}
		}
	}
}

// attribute follows the references of the attribute that rest selects in a resource block. If rest
// selects no attribute, it follows the references of the whole block.
func (t *tracer) attribute(r *reads.Resource, at addrs.ModuleInstance, rest hcl.Traversal) {
	if r == nil || r.Config == nil || r.Exprs.Body == nil {
		return
	}
	if len(rest) == 0 {
		t.resource(r, at)
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
	if e := t.exprs.Expr(content.Attributes[step.Name].Expr); e != nil {
		t.refs(e.Refs, r.Module, at, r.Exprs.Repetition)
	}
}

func (t *tracer) add(target addrs.Target, rest hcl.Traversal) {
	path := pathOf(rest)
	t.found[target.String()+tfdiags.FormatPath(path)] = plans.RelevantAttribute{Resource: target, Attr: path}
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
