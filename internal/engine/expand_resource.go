package engine

import (
	"maps"
	"slices"

	"tofu/internal/engine/graph"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// expandResource decides a resource's instances in one module instance.
func (w *walk) expandResource(r *graph.Resource, in *moduleInstance) (*expansion, tfdiags.Diagnostics) {
	if r.Exprs.SelfReferences.HasErrors() {
		return nil, r.Exprs.SelfReferences
	}
	c := w.context(in, repetition{})
	x, diags := c.expand(r.Exprs.Repetition, r.Addr.Resource.InInstance(in.addr).String())
	if diags.HasErrors() {
		return nil, diags
	}
	return newExpansion(*x), diags
}

// standing gives the instances that there will be: in a partial run not all that the configuration wants. What neither exists nor is made
// is left out, and what is not wanted any more but stays is added. Of counted ones, those before one that is there keep their places.
func (w *walk) standing(r *graph.Resource, in *moduleInstance, x *expansion) (*expansion, tfdiags.Diagnostics) {
	rep := r.Exprs.Repetition
	if !w.op.Partial() || !rep.Repeats() && rep.Enabled == nil {
		return x, nil
	}
	there := map[addrs.InstanceKey]cty.Value{}
	for i, v := range x.objs {
		if v != cty.NilVal {
			there[x.keys[i]] = v
		}
	}
	abs := r.Addr.Resource.InInstance(in.addr)
	var diags tfdiags.Diagnostics
	for _, key := range w.unwanted(abs, x) {
		if rep.Matches(key) {
			v, more := w.staying(r, abs.Instance(key))
			diags = diags.Append(more)
			if v != cty.NilVal {
				there[key] = v
			}
		}
	}
	will := instances{mode: x.mode, keys: slices.SortedFunc(maps.Keys(there), addrs.InstanceKey.Compare)}
	switch {
	case rep.Count != nil:
		will.keys = upToLargest(will.keys)
	case rep.Enabled == nil:
	case len(there) == 0:
		will.mode = repeatDisabled
	default:
		will.mode = repeatSingle
	}
	out := newExpansion(will)
	for i, key := range will.keys {
		out.objs[i] = there[key]
	}
	return out, diags
}

// unwanted lists the keys of stored instances that the configuration doesn't want.
func (w *walk) unwanted(addr addrs.AbsResource, x *expansion) []addrs.InstanceKey {
	w.out.mu.Lock()
	defer w.out.mu.Unlock()
	stored := w.out.state.Resource(addr)
	if stored == nil {
		return nil
	}
	var keys []addrs.InstanceKey
	for key := range stored.Instances {
		if _, wanted := x.has(key); !wanted {
			keys = append(keys, key)
		}
	}
	return keys
}

// staying gives the object of an instance that the configuration doesn't want, unless the plan is to take it away.
func (w *walk) staying(r *graph.Resource, addr addrs.AbsInstance) (cty.Value, tfdiags.Diagnostics) {
	w.out.mu.Lock()
	inst, change := w.out.state.Instance(addr), w.out.changes.Instance(addr, "")
	w.out.mu.Unlock()
	if inst == nil || inst.Current == nil || change != nil {
		return cty.NilVal, nil
	}
	return decode(r, addr, inst.Current)
}

// valueOf puts together what references to a resource see of its instances. An object that stands alone and that a plan for refreshing
// only will not make is not even of a known type: nothing ever says that it will have one.
func (w *walk) valueOf(r *graph.Resource, x *expansion) cty.Value {
	ty := r.Schema.Block.ImpliedType()
	if x.mode == repeatUnknown || x.mode == repeatSingle && x.objs[0] == cty.NilVal && w.op.Mode == plans.RefreshOnly {
		return cty.DynamicVal
	}
	objs := slices.Clone(w.seen(r, x.objs))
	for i, v := range objs {
		if v == cty.NilVal {
			objs[i] = cty.UnknownVal(ty)
		}
	}
	return x.whole(objs, cty.NullVal(ty))
}

// seen gives objects as references see them: with the marks of what is deprecated.
func (w *walk) seen(r *graph.Resource, objs []cty.Value) []cty.Value {
	if !w.deprecates || !r.Schema.Block.ContainsDeprecated() {
		return objs
	}
	objs = slices.Clone(objs)
	for i, v := range objs {
		objs[i] = w.markDeprecated(r, v)
	}
	return objs
}
