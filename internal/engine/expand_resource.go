package engine

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// expandResource decides a resource's instances in one module instance.
func (w *walk) expandResource(r *resource, in *moduleInstance) (*expansion, tfdiags.Diagnostics) {
	if r.exprs.itself.HasErrors() {
		return nil, r.exprs.itself
	}
	c := w.context(in, repetition{})
	x, diags := c.expand(r.exprs.rep, r.addr.Resource.InInstance(in.addr).String())
	if diags.HasErrors() {
		return nil, diags
	}
	out := &expansion{mode: x.mode, keys: x.keys, each: x.each, objs: make([]cty.Value, len(x.keys))}
	if r.exprs.rep.repeats() {
		out.known = make(map[addrs.InstanceKey]int, len(x.keys))
		for i, k := range x.keys {
			out.known[k] = i
		}
	} else if x.mode == repeatSingle {
		out.known = singleKnown
	}
	return out, diags
}

var singleKnown = map[addrs.InstanceKey]int{addrs.NoKey: 0}

// rep gives count and each of the instance at a position.
func (x *expansion) rep(i int) repetition {
	return (&instances{mode: x.mode, keys: x.keys, each: x.each}).repetition(i)
}

// keepStanding makes of the instances that the configuration wants, in a partial run, those that there will be: it leaves out what
// neither exists nor is made, and adds what is not wanted any more but stays. Of counted ones, those before one that is there keep
// their places.
func (w *walk) keepStanding(r *resource, in *moduleInstance, x *expansion) tfdiags.Diagnostics {
	rep := r.exprs.rep
	if !rep.repeats() && rep.enabled == nil {
		return nil
	}
	there := map[addrs.InstanceKey]cty.Value{}
	for i, v := range x.objs {
		if v != cty.NilVal {
			there[x.keys[i]] = v
		}
	}
	abs := r.addr.Resource.InInstance(in.addr)
	var diags tfdiags.Diagnostics
	for _, key := range w.unwanted(abs, x) {
		if rep.fits(key) {
			v, more := w.staying(r, abs.Instance(key))
			diags = diags.Append(more)
			if v != cty.NilVal {
				there[key] = v
			}
		}
	}
	x.keys = slices.SortedFunc(maps.Keys(there), addrs.InstanceKey.Compare)
	switch {
	case rep.count != nil:
		x.keys = upToLargest(x.keys)
	case rep.enabled == nil:
	case len(there) == 0:
		x.mode = repeatDisabled
	default:
		x.mode = repeatSingle
	}
	x.objs = make([]cty.Value, len(x.keys))
	for i, key := range x.keys {
		x.objs[i] = there[key]
	}
	return diags
}

// unwanted lists the keys of stored instances that the configuration doesn't want.
func (w *walk) unwanted(addr addrs.AbsResource, x *expansion) []addrs.InstanceKey {
	w.mu.Lock()
	defer w.mu.Unlock()
	stored := w.state.Resource(addr)
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
func (w *walk) staying(r *resource, addr addrs.AbsInstance) (cty.Value, tfdiags.Diagnostics) {
	w.mu.Lock()
	inst, change := w.state.Instance(addr), w.changes.Instance(addr, "")
	w.mu.Unlock()
	if inst == nil || inst.Current == nil || change != nil {
		return cty.NilVal, nil
	}
	return r.decode(addr, inst.Current)
}

// whole gives the resource's value out of its instances' objects. ty is the type's implied type. An object that stands alone and
// that a plan for refreshing only will not make is not even of a known type: nothing ever says that it will have one.
func (x *expansion) whole(ty cty.Type, objs []cty.Value, mode plans.Mode) cty.Value {
	if x.mode == repeatSingle && objs[0] == cty.NilVal && mode == plans.RefreshOnly {
		return cty.DynamicVal
	}
	objs = slices.Clone(objs)
	for i, v := range objs {
		if v == cty.NilVal {
			objs[i] = cty.UnknownVal(ty)
		}
	}
	if x.mode == repeatUnknown {
		return cty.DynamicVal
	}
	return x.mode.whole(x.keys, objs, cty.NullVal(ty))
}

// settle gives a resource the value that references to it see, in the module instance of x.
func (w *walk) settle(r *resource, x *expansion) {
	x.value = x.whole(r.schema.Block.ImpliedType(), w.seen(r, x.objs), w.mode)
}

// seen gives objects as references see them: with the marks of what is deprecated.
func (w *walk) seen(r *resource, objs []cty.Value) []cty.Value {
	if !w.deprecates || !r.schema.Block.ContainsDeprecated() {
		return objs
	}
	objs = slices.Clone(objs)
	for i, v := range objs {
		objs[i] = w.markDeprecated(r, v)
	}
	return objs
}
