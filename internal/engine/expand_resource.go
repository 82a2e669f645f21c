package engine

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// resourceValues determines the instances of a resource and their values.
type resourceValues struct {
	e *evaluator
	r *graph.Resource
}

func (e *evaluator) values(r *graph.Resource) resourceValues { return resourceValues{e, r} }

// expand decides a resource's instances in one module instance.
func (rv resourceValues) expand(in *moduleInstance) (*expansion, tfdiags.Diagnostics) {
	e, r := rv.e, rv.r
	if r.Exprs.SelfReferences.HasErrors() {
		return nil, r.Exprs.SelfReferences
	}
	c := e.newContext(in, repetition{})
	x, diags := c.expand(r.Exprs.Repetition, r.Addr.Resource.InInstance(in.addr).String())
	if diags.HasErrors() {
		return nil, diags
	}
	return newExpansion(*x), diags
}

// resulting gives the instances that there will be: in a partial run not all that the configuration wants. What neither exists nor is made
// is left out, and what is not wanted any more but stays is added. Of counted ones, those before one that is there keep their places.
func (rv resourceValues) resulting(in *moduleInstance, x *expansion) (*expansion, tfdiags.Diagnostics) {
	e, r := rv.e, rv.r
	rep := r.Exprs.Repetition
	if !e.op.Partial() || !rep.Repeats() && rep.Enabled == nil {
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
	for _, key := range rv.orphanKeys(abs, x) {
		if rep.Matches(key) {
			v, more := rv.keptOrphan(abs.Instance(key))
			diags = diags.Append(more...)
			if v != cty.NilVal {
				there[key] = v
			}
		}
	}
	will := expandedKeys{mode: x.mode, keys: slices.SortedFunc(maps.Keys(there), addrs.InstanceKey.Compare)}
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

// orphanKeys lists the keys of stored instances that the configuration doesn't want.
func (rv resourceValues) orphanKeys(addr addrs.AbsResource, x *expansion) []addrs.InstanceKey {
	e := rv.e
	e.out.mu.Lock()
	defer e.out.mu.Unlock()
	stored := e.out.state.Resource(addr)
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

// keptOrphan returns the object of an instance that is no longer declared, unless the plan removes it.
func (rv resourceValues) keptOrphan(addr addrs.AbsInstance) (cty.Value, tfdiags.Diagnostics) {
	e, r := rv.e, rv.r
	e.out.mu.Lock()
	inst, change := e.out.state.Instance(addr), e.out.changes.Instance(addr, "")
	e.out.mu.Unlock()
	if inst == nil || inst.Current == nil || change != nil {
		return cty.NilVal, nil
	}
	return decode(r, addr, inst.Current)
}

// whole puts together what references to a resource see of its instances. An object that stands alone and that a plan for refreshing
// only will not make is not even of a known type: nothing ever says that it will have one.
func (rv resourceValues) whole(x *expansion) cty.Value {
	e, r := rv.e, rv.r
	ty := r.Schema.Block.ImpliedType()
	if x.mode == repeatUnknown || x.mode == repeatSingle && x.objs[0] == cty.NilVal && e.op.Mode == plans.RefreshOnly {
		return cty.DynamicVal
	}
	objs := slices.Clone(rv.visible(x.objs))
	for i, v := range objs {
		if v == cty.NilVal {
			objs[i] = cty.UnknownVal(ty)
		}
	}
	return x.whole(objs, cty.NullVal(ty))
}

// visible returns objects as references see them: with the marks of deprecated attributes.
func (rv resourceValues) visible(objs []cty.Value) []cty.Value {
	e, r := rv.e, rv.r
	if !e.deprecates || !r.Schema.Block.ContainsDeprecated() {
		return objs
	}
	objs = slices.Clone(objs)
	for i, v := range objs {
		objs[i] = e.markDeprecated(r, v)
	}
	return objs
}
