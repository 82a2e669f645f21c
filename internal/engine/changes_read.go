package engine

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// attributesRead returns the attributes that changing objects and root outputs read, directly or
// through named values and data sources. It follows no references of managed resources that don't
// change: what they read has no effect on others. Like relevantAttributes, it visits each named
// value once for each module instance, and each block once for each instance that changes.
func (f finisher) attributesRead() []plans.RelevantAttribute {
	return sortedAttributes(f.traceReads().found)
}

func newReadTracer(w *walk) *readTracer {
	return &readTracer{w: w, seen: map[tracedValue]bool{}, blocks: map[tracedBlock]bool{}, calls: map[tracedCall]bool{},
		attrs: map[tracedAttribute]bool{}, found: map[string]plans.RelevantAttribute{}}
}

func (f finisher) traceReads() *readTracer {
	t := newReadTracer(f.w)
	for _, change := range f.w.out.changes.Instances {
		if change.Action != plans.NoOp {
			t.change(f.w.graph.Resource(change.Addr.Config()), change)
		}
	}
	for _, change := range f.w.out.changes.Outputs {
		if v := f.w.graph.Root.Outputs[change.Name]; v != nil && change.Action != plans.NoOp {
			t.value(v, addrs.RootInstance)
		}
	}
	return t
}

func sortedAttributes(found map[string]plans.RelevantAttribute) []plans.RelevantAttribute {
	out := make([]plans.RelevantAttribute, 0, len(found))
	for _, key := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[key])
	}
	return out
}

// readTracer follows references from what changes.
type readTracer struct {
	w      *walk
	seen   map[tracedValue]bool
	blocks map[tracedBlock]bool
	calls  map[tracedCall]bool
	attrs  map[tracedAttribute]bool
	found  map[string]plans.RelevantAttribute
	// byAttribute says that the attributes of all resources are followed as they are written, without
	// keys and whether or not the instances exist or change; see relevantAttributes.
	byAttribute bool
}

type tracedValue struct {
	v  *reads.Value
	at addrs.ModuleInstance
}

// tracedCall is a reference to outputs of a module call; see readTracer.call.
type tracedCall struct {
	child  *reads.Module
	at     addrs.ModuleInstance
	key    addrs.InstanceKey
	output string
}

type tracedBlock struct {
	r  *reads.Resource
	at addrs.ModuleInstance
}

// readFrom is where references are followed.
type readFrom struct {
	reads.Scope
	reads instanceReads // instances that the block reads by computed indexes, if known
}

// fromModule returns where the references of an expression without count and each are followed.
func fromModule(m *reads.Module, at addrs.ModuleInstance) readFrom {
	return readFrom{Scope: reads.Scope{Module: m, In: at}}
}

// fromBlock is like fromModule, for a block with its count and for_each.
func fromBlock(r *reads.Resource, at addrs.ModuleInstance) readFrom {
	return readFrom{Scope: reads.Scope{Module: r.Module, In: at, Repetition: r.Exprs.Repetition}}
}

// fromInstance is like fromBlock, for the instance that a change is for.
func fromInstance(r *reads.Resource, c *plans.InstanceChange) readFrom {
	return readFrom{r.Scope(c.Addr.Module, c.Addr.Key, nil), c.Reads}
}

// change follows the references that decide a change.
func (t *readTracer) change(r *reads.Resource, c *plans.InstanceChange) {
	if r == nil || r.Config == nil || r.Exprs.Body == nil {
		return
	}
	in := fromInstance(r, c)
	if c.Before.IsNull() || c.After.IsNull() { // the number of instances may change
		for _, refs := range r.Exprs.Repetition.Refs() {
			t.refs(refs, fromModule(r.Module, c.Addr.Module))
		}
	}
	if c.Action != plans.Delete {
		t.block(r, in, r.Exprs.Body.Refs.ReadsComputed() || in.Chain() != nil)
	}
}

// block follows the references of a block. If they don't depend on the instance, the block is
// visited once in each module instance.
func (t *readTracer) block(r *reads.Resource, in readFrom, byInstance bool) {
	key := tracedBlock{r, in.In}
	if t.blocks[key] && !byInstance {
		return
	}
	t.blocks[key] = true
	t.refs(&r.Exprs.Body.Refs, in)
	for _, trigger := range r.Exprs.Triggers {
		t.refs(&trigger.Refs, in)
	}
}

func (t *readTracer) value(v *reads.Value, at addrs.ModuleInstance) {
	key := tracedValue{v, at}
	if v == nil || v.Expr == nil || t.seen[key] {
		return
	}
	t.seen[key] = true
	switch m := v.EvaluatedBy(); {
	case m == nil:
	case t.byAttribute:
		t.refs(&v.Expr.Refs, fromModule(m, v.EvaluatedIn(at)))
	default:
		t.refs(&v.Expr.Refs, readFrom{Scope: v.Scope(at, nil)})
	}
}

func (t *readTracer) refs(refs *lang.Refs, in readFrom) {
	for _, ref := range refs.Objects {
		switch of := in.Module.Named(ref.Subject); {
		case of.Resource != nil:
			t.resource(refs, ref, of, in)
		case of.Call != nil && t.byAttribute:
			for _, output := range of.Outputs() {
				t.value(output, in.In.Child(of.Call.Call.Name, of.Key))
			}
		case of.Call != nil:
			if of.IsWholeCall() {
				of.Output = refs.Instance(ref).Output
				of.Value = of.Call.Outputs[of.Output]
			}
			t.call(of, in)
		case of.Value != nil:
			t.value(of.Value, in.In)
		default:
			t.repetition(ref, in)
		}
	}
}

// resource adds the instances of a resource that a reference selects, or else all of them.
func (t *readTracer) resource(refs *lang.Refs, ref *addrs.Reference, of reads.Named, in readFrom) {
	s, keyed := of.Resource.Addr.Resource, of.Key != addrs.NoKey
	target, path := addrs.Target{Module: in.In, Resource: s, Key: of.Key, HasKey: keyed}, pathOf(ref.Remaining)
	if t.byAttribute {
		t.add(target, path)
		t.attribute(of.Resource, in.In, ref.Remaining)
		return
	}
	t.data(of.Resource, in)
	var keys instanceReads
	if !keyed && refs.SelectsInstance(ref) {
		keys = in.reads.of(s)
		if name := refs.Instance(ref).Output; name != "" {
			path = cty.GetAttrPath(name)
		}
	}
	if keys == nil {
		t.add(target, path)
	}
	for _, read := range keys {
		if read.Key != addrs.NoKey {
			target.Key, target.HasKey = read.Key, true
			t.add(target, path)
		}
	}
}

// repetition follows a reference to count or each. It follows each.value to a single instance if
// for_each is a resource.
func (t *readTracer) repetition(ref *addrs.Reference, in readFrom) {
	decides, of := in.Repetition.Deciding(ref.Subject), in.Chain()
	switch {
	case decides == nil:
	case of != nil && ref.Subject == addrs.ForEachAttr{Name: "value"}:
		target := addrs.Target{Module: of.In(in.Module, in.In), Resource: of.Of.Addr.Resource, Key: in.Key, HasKey: true}
		var path cty.Path
		if of.Via == nil {
			path = pathOf(ref.Remaining)
		}
		t.add(target, path)
		t.data(of.Of, in)
	default:
		t.refs(&decides.Refs, fromModule(in.Module, in.In))
	}
}

// data follows the references of a data source. Its result is not a change, but derived from them.
func (t *readTracer) data(r *reads.Resource, in readFrom) {
	if r.Config != nil && r.Exprs.Body != nil && r.Addr.Resource.Mode == addrs.Data {
		t.block(r, fromBlock(r, in.In), false)
	}
}

// call follows one output of a module call, or all of them if the reference is to none. A key selects one
// instance of the call.
func (t *readTracer) call(of reads.Named, in readFrom) {
	child, caller := of.Call, t.w.modules.at(in.Module, in.In)
	visit := tracedCall{child, in.In, of.Key, of.Output}
	if caller == nil || caller.calls[child.CallSlot] == nil || t.calls[visit] {
		return
	}
	t.calls[visit] = true
	outputs := of.Outputs()
	for _, instance := range caller.calls[child.CallSlot].of {
		if _, step := instance.addr.Parent(); of.Key != addrs.NoKey && step.Key != of.Key {
			continue
		}
		for _, v := range outputs {
			t.value(v, instance.addr)
		}
	}
}

func (t *readTracer) add(target addrs.Target, path cty.Path) {
	t.found[target.String()+tfdiags.FormatPath(path)] = plans.RelevantAttribute{Resource: target, Attr: path}
}
