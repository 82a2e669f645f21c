package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// resourceValues determines the instances of a resource and their values.
type resourceValues struct {
	e *evaluator
	r *reads.Resource
}

func (e *evaluator) values(r *reads.Resource) resourceValues { return resourceValues{e, r} }

// expand determines the instances of a resource in one module instance.
func (rv resourceValues) expand(ctx context.Context, in *moduleInstance) (*expansion, error) {
	if each := rv.r.Each; each != nil && !rv.e.op.isDeferred(rv.r, in) {
		if x := rv.e.eachKeys(&each.KeyedRead, in); x != nil {
			return newExpansion(*x), nil
		}
	}
	return rv.expandWhole(ctx, in)
}

// expandWhole does the same as expand, but it requires that everything the block refers to is
// complete.
func (rv resourceValues) expandWhole(ctx context.Context, in *moduleInstance) (*expansion, error) {
	e, r := rv.e, rv.r
	if err := r.Exprs.SelfReferences.Err(); err != nil {
		return nil, err
	}
	deferred := e.op.isDeferred(r, in)
	switch {
	case deferred && e.op.Phase.Plans():
		return nil, leftForLater(r.Addr.String())
	case deferred && e.op.Phase.Applies():
		return newExpansion(expandedKeys{mode: repeatUnknown}), nil
	}
	c := e.newContext(ctx, in, repetition{})
	abs := r.Addr.Resource.InInstance(in.addr)
	x, err := c.expand(r.Exprs.Repetition, abs.String())
	switch {
	case err != nil && e.graph.LeavesOut(r.Node, in.addr):
		keys := storedKeys(r.Exprs.Repetition, e.op.Prior.Resource(abs))
		return newExpansion(expandedKeys{mode: modeOf(r.Exprs.Repetition), keys: keys}), nil
	case err != nil:
		return nil, err
	}
	return newExpansion(*x.declaredBy(r.ChainedTo(), in)), nil
}

// resulting returns the instances that exist after a partial run, which includes only some of the
// declared instances. It leaves out declared instances that neither exist nor are created, and adds
// undeclared ones that are kept. With count, all indexes below the largest existing one remain.
func (rv resourceValues) resulting(in *moduleInstance, x *expansion) (*expansion, error) {
	e, r := rv.e, rv.r
	rep := r.Exprs.Repetition
	if x.mode == repeatUnknown || !e.op.Partial() || !rep.Repeats() && rep.Enabled == nil {
		return x, nil
	}
	there := map[addrs.InstanceKey]cty.Value{}
	for i, v := range x.objs {
		if v != cty.NilVal {
			there[x.keys[i]] = v
		}
	}
	abs := r.Addr.Resource.InInstance(in.addr)
	var errs tfdiags.Diagnostics
	for _, key := range rv.orphanKeys(abs, x) {
		if rep.Matches(key) {
			v, err := rv.keptOrphan(abs.Instance(key))
			errs = errs.AppendError(err)
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
	return out, errs.Err()
}

// orphanKeys returns the keys of stored instances that the configuration does not declare.
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

// keptOrphan returns the object of an instance that is no longer declared, or NilVal if the plan
// removes it.
func (rv resourceValues) keptOrphan(addr addrs.AbsInstance) (cty.Value, error) {
	e, r := rv.e, rv.r
	obj := e.out.current(addr)
	if obj == nil || e.out.change(addr) != nil {
		return cty.NilVal, nil
	}
	return decode(r, addr, obj)
}

// whole returns the value of the resource for references. In a refresh-only plan, the value of a
// missing single object is unknown and has no known type, since the object may never exist.
func (rv resourceValues) whole(x *expansion) cty.Value {
	e, r := rv.e, rv.r
	ty := r.Schema.Block.ImpliedType()
	if x.mode == repeatUnknown || x.mode == repeatSingle && x.objs[0] == cty.NilVal && e.op.Mode == plans.RefreshOnly {
		return rv.unknown(cty.DynamicVal)
	}
	objs := slices.Clone(rv.visible(x.objs))
	for i, v := range objs {
		if v == cty.NilVal {
			objs[i] = rv.unknown(cty.UnknownVal(ty))
		}
	}
	return x.whole(objs, cty.NullVal(ty))
}

// unknownWhole returns the value of a resource whose instances are unknown. If the type of the
// instances is known, so is the type of the value.
func (rv resourceValues) unknownWhole() cty.Value {
	ty := rv.r.Schema.Block.ImpliedType()
	switch rep := rv.r.Exprs.Repetition; {
	case ty.HasDynamicTypes():
	case rep.Count != nil:
		return rv.unknown(cty.UnknownVal(cty.List(ty)).RefineNotNull())
	case rep.ForEach != nil:
		return rv.unknown(cty.UnknownVal(cty.Map(ty)).RefineNotNull())
	}
	return rv.unknown(cty.DynamicVal)
}

// unknown returns an unknown value that stands for objects of the resource. It is ephemeral if they
// are.
func (rv resourceValues) unknown(v cty.Value) cty.Value {
	if rv.r.Addr.Resource.Mode == addrs.Ephemeral {
		return ephemeralValue(v)
	}
	return v
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
