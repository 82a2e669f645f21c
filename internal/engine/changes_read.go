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

// traceReads finds the attributes that changing objects and root outputs read, directly or
// through named values and data sources. It follows no references of managed resources that don't
// change: what they read has no effect on others. Like relevantAttributes, it visits each named
// value once for each module instance, and each block once for each instance that changes.
func (f finisher) traceReads() *readTracer {
	w := f.w
	t := &readTracer{w: w, early: w.op.Early(w.graph), seen: map[tracedValue]bool{}, blocks: map[tracedBlock]bool{},
		found: foundAttributes{}}
	for _, change := range w.out.changes.Instances {
		if change.Action != plans.NoOp {
			t.change(w.graph.Resource(change.Addr.Config()), change)
		}
	}
	for _, change := range w.out.changes.Outputs {
		if v := w.graph.Root.Outputs[change.Name]; v != nil && change.Action != plans.NoOp {
			t.value(v, addrs.RootInstance, reads.Lead{Early: t.early})
		}
	}
	return t
}

// foundAttributes holds attributes by a text that is different for each.
type foundAttributes map[string]plans.RelevantAttribute

func (f foundAttributes) add(target addrs.Target, path cty.Path) {
	f[target.String()+tfdiags.FormatPath(path)] = plans.RelevantAttribute{Resource: target, Attr: path}
}

func (f foundAttributes) sorted() []plans.RelevantAttribute {
	out := make([]plans.RelevantAttribute, 0, len(f))
	for _, key := range slices.Sorted(maps.Keys(f)) {
		out = append(out, f[key])
	}
	return out
}

// readTracer follows references from what changes.
type readTracer struct {
	w      *walk
	early  reads.KnownKeys
	seen   map[tracedValue]bool
	blocks map[tracedBlock]bool
	found  foundAttributes
}

type tracedValue struct {
	v    *reads.Value
	at   addrs.ModuleInstance
	part string // see reads.Lead.Part
}

type tracedBlock struct {
	r  *reads.Resource
	at addrs.ModuleInstance
}

// ofInstance returns the scope of the block in the instance that a change is for.
func (t *readTracer) ofInstance(r *reads.Resource, c *plans.InstanceChange) reads.Scope {
	return r.Scope(c.Addr.Module, c.Addr.Key, t.early, c.Reads)
}

// change follows the references that decide a change.
func (t *readTracer) change(r *reads.Resource, c *plans.InstanceChange) {
	if r == nil || r.Config == nil || r.Exprs.Body == nil {
		return
	}
	in := t.ofInstance(r, c)
	if c.Before.IsNull() || c.After.IsNull() { // the number of instances may change
		for _, refs := range r.Exprs.Repetition.Refs() {
			t.refs(refs, in)
		}
	}
	if c.Action != plans.Delete {
		t.block(r, in, r.Exprs.Body.Refs.ReadsComputed() || r.ChainedTo() != nil)
	}
}

// block follows the references of a block. If they don't depend on the instance, the block is
// visited once in each module instance.
func (t *readTracer) block(r *reads.Resource, in reads.Scope, byInstance bool) {
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

// whole follows the references of a block in one module instance, for all its instances.
func (t *readTracer) whole(r *reads.Resource, at addrs.ModuleInstance) {
	if r.Config != nil && r.Exprs.Body != nil {
		t.block(r, r.Scope(at, addrs.NoKey, t.early, nil), false)
	}
}

// value follows the references of a value in one instance of its module. to is what led to the value.
func (t *readTracer) value(v *reads.Value, at addrs.ModuleInstance, to reads.Lead) {
	key := tracedValue{v, at, to.Part()}
	if v.Expr != nil && v.EvaluatedBy() != nil && !t.seen[key] {
		t.seen[key] = true
		t.refs(&v.Expr.Refs, to.Scope(v, at))
	}
}

func (t *readTracer) refs(refs *lang.Refs, in reads.Scope) {
	for _, ref := range refs.Objects {
		switch to := in.Follow(refs, ref); {
		case to.Nothing():
		case to.Resource != nil:
			for _, target := range to.Targets() {
				t.found.add(target, pathOf(to.Rest))
			}
			if to.Resource.Addr.Resource.Mode == addrs.Data { // its result is not a change, but derived from changes
				t.whole(to.Resource, to.In)
			}
		case to.Values != nil:
			t.values(to)
		case to.Decides != nil:
			t.refs(&to.Decides.Refs, reads.Scope{Module: in.Module, In: in.In, Early: t.early})
		}
	}
}

// values follows values, in all instances of their module call if the reference doesn't select known ones.
func (t *readTracer) values(to reads.Lead) {
	modules := to.Modules()
	if to.Call != nil && !to.Known {
		modules = nil
		if caller := t.w.modules.at(to.Call.Parent, to.In); caller != nil && caller.calls[to.Call.CallSlot] != nil {
			for _, instance := range caller.calls[to.Call.CallSlot].of {
				modules = append(modules, instance.addr)
			}
		}
	}
	for _, at := range modules {
		for _, v := range to.Values {
			t.value(v, at, to)
		}
	}
}
