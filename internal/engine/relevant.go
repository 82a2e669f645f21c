package engine

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
)

// relevantAttributes returns the resource attributes that planned changes and output values are
// derived from, directly or through variables, locals and module outputs. It follows the references
// in the configuration, whether or not the instances exist. It visits each named value once for
// each module instance, so its cost is linear in the number of references.
func (f finisher) relevantAttributes() []plans.RelevantAttribute {
	w := f.w
	t := &writtenTracer{w: w, seen: map[tracedValue]bool{}, blocks: map[tracedBlock]bool{},
		attrs: map[tracedAttribute]bool{}, found: foundAttributes{}}
	for _, change := range w.out.changes.Instances {
		if change.Action != plans.NoOp {
			t.block(w.graph.Resource(change.Addr.Config()), change.Addr.Module)
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
	return t.found.sorted()
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

// writtenTracer follows references as they are written, without keys and whether or not the instances exist or
// change.
type writtenTracer struct {
	w      *walk
	seen   map[tracedValue]bool
	blocks map[tracedBlock]bool
	attrs  map[tracedAttribute]bool
	found  foundAttributes
}

type tracedAttribute struct {
	r    *reads.Resource
	at   addrs.ModuleInstance
	name string
}

func (t *writtenTracer) value(v *reads.Value, at addrs.ModuleInstance) {
	key := tracedValue{v: v, at: at}
	if v.Expr != nil && v.EvaluatedBy() != nil && !t.seen[key] {
		t.seen[key] = true
		t.refs(&v.Expr.Refs, v.EvaluatedBy(), v.EvaluatedIn(at), reads.Repetition{})
	}
}

// refs follows references in a module instance. rep decides count and each.
func (t *writtenTracer) refs(refs *lang.Refs, m *reads.Module, in addrs.ModuleInstance, rep reads.Repetition) {
	for _, ref := range refs.Objects {
		switch of := m.Named(ref.Subject); {
		case of.Resource != nil:
			target := addrs.Target{Module: in, Resource: of.Resource.Addr.Resource, Key: of.Key,
				HasKey: of.Key != addrs.NoKey}
			t.found.add(target, pathOf(ref.Remaining))
			t.attribute(of.Resource, in, ref.Remaining)
		case of.Call != nil:
			for _, output := range of.Outputs() {
				t.value(output, in.Child(of.Call.Call.Name, of.Key))
			}
		case of.Value != nil:
			t.value(of.Value, in)
		default:
			if decides := rep.Deciding(ref.Subject); decides != nil {
				t.refs(&decides.Refs, m, in, reads.Repetition{})
			}
		}
	}
}

// block follows the references of a resource block in one module instance. References in count and
// for_each are followed only if the block uses count or each.
func (t *writtenTracer) block(r *reads.Resource, at addrs.ModuleInstance) {
	if r == nil || r.Config == nil || r.Exprs.Body == nil || t.blocks[tracedBlock{r, at}] {
		return
	}
	t.blocks[tracedBlock{r, at}] = true
	body := r.Exprs.Body
	if generated := t.w.generated.bodies[r]; generated != nil {
		body = generated
	}
	t.refs(&body.Refs, r.Module, at, r.Exprs.Repetition)
}

// attribute follows the references of the attribute that rest selects in a resource block. If rest
// selects no attribute, it follows the references of the whole block.
func (t *writtenTracer) attribute(r *reads.Resource, at addrs.ModuleInstance, rest hcl.Traversal) {
	if len(rest) == 0 {
		t.block(r, at)
		return
	}
	name := addrs.StepName(rest[0])
	key := tracedAttribute{r, at, name}
	if name == "" || t.attrs[key] {
		return
	}
	t.attrs[key] = true
	if e := t.w.op.Known.Attribute(r, name); e != nil {
		t.refs(&e.Refs, r.Module, at, r.Exprs.Repetition)
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
