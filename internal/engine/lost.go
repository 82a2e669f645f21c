package engine

import (
	"context"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// Dependencies that the state has lost
//
// The state names no instances after another program has written it, and none for an object that was
// just imported. Its dependencies by resource then count as a whole: the configuration may have
// changed since the object was created, so it can't say which instances they mean. But dependencies
// by resource never include the instances of the object's own block or module call. Only the
// configuration says which of these it depends on. A plan finds them while it plans the object. A
// destruction that doesn't plan all objects first, because it doesn't refresh them or only some of
// them, finds them before its walk, as far as their keys are known then.

// lostInstances finds the dependencies of objects in a state before any walk.
type lostInstances struct {
	w     *walk // isn't run
	early *earlyValues
}

// withLostInstances returns the state with the dependencies by instance that it has lost and that
// dependencies by resource never include.
func (o *PlanOptions) withLostInstances(
	ctx context.Context, cfg *configs.Config, st *states.State, env *Env,
) *states.State {
	if !hasInstanceKeys(st) {
		return st
	}
	silent := *env
	silent.Observe, silent.Warn = nil, nil
	op := (&PlanOptions{Variables: o.Variables}).operation(cfg, st, &silent)
	op.ByInstance, op.PreDestroy = true, true
	w, err := newWalk(ctx, op, st)
	if err != nil {
		return st // a destruction doesn't need the configuration to be valid
	}
	early := newEarlyValues(op, w.graph)
	w.eval, w.modules, w.needs = early.e, early.e.modules, newInstanceNeeds(early.e)
	f, out := lostInstances{w, early}, st
	for res := range st.Resources() {
		r := w.graph.Resource(res.Addr.Config())
		if r == nil || r.Config == nil || r.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		for key, inst := range res.Instances {
			if inst.Current == nil || len(inst.Current.DependencyInstances) > 0 {
				continue
			}
			list := withWhole(f.of(ctx, r, res.Addr.Instance(key)), inst.Current, res.Addr.Module, st)
			if len(list) == 0 {
				continue
			}
			if out == st {
				out = st.Clone()
			}
			found := changed(inst.Current, func(obj *states.Object) { obj.DependencyInstances = list })
			out.SetCurrent(res.Addr.Instance(key), found, addrs.ProviderInstance{Config: res.Provider, Key: inst.ProviderKey})
		}
	}
	return out
}

// withWhole adds to a list of instances those of resources that it names and that the object in a
// module instance also depends on as a whole: a list must be complete for each resource that it names.
func withWhole(
	list []addrs.AbsInstance, obj *states.Object, in addrs.ModuleInstance, st *states.State,
) []addrs.AbsInstance {
	done := map[addrs.ConfigResource]bool{}
	for _, dep := range slices.Clone(list) {
		of := dep.Config()
		if done[of] || !obj.Dependencies.Has(of) {
			continue
		}
		done[of] = true
		if whole := st.Resource(of.Resource.InInstance(in)); whole != nil {
			for key := range whole.Instances {
				list = append(list, whole.Addr.Instance(key))
			}
		}
	}
	slices.SortFunc(list, addrs.AbsInstance.Compare)
	return slices.Compact(list)
}

// hasInstanceKeys reports whether an instance in a state, or its module instance, has a key.
func hasInstanceKeys(s *states.State) bool {
	for r := range s.Resources() {
		if r.Addr.Module != r.Addr.Module.Module().UnkeyedInstance() {
			return true
		}
		for key := range r.Instances {
			if key != addrs.NoKey {
				return true
			}
		}
	}
	return false
}

// of returns the instances of its own block and module call that an object depends on.
func (f *lostInstances) of(ctx context.Context, r *reads.Resource, addr addrs.AbsInstance) []addrs.AbsInstance {
	if r.OwnInstances() == nil && !r.Module.ReadsSiblings() {
		return nil
	}
	in := f.early.moduleAt(r.Module, addr.Module)
	x := f.early.expansion(r, in)
	if x == nil {
		return nil
	}
	t := &instance{w: f.w, r: r, addr: addr, in: in}
	i, declared := x.has(addr.Key)
	if !declared {
		return t.lostReads(ctx)
	}
	t.c = f.w.eval.newContext(ctx, in, x.repetition(i))
	return t.ownInstances(&plans.InstanceChange{})
}

// lostReads returns the instances of its own resource that an instance referred to while the
// configuration declared it. It returns nil if a key depends on anything but count.index or
// each.key.
func (t *instance) lostReads(ctx context.Context) []addrs.AbsInstance {
	own, rep := t.r.OwnInstances(), repetition{eachKey: t.addr.Key.Value()}
	if own == nil || t.in == nil || !t.r.Exprs.Repetition.Matches(t.addr.Key) {
		return nil
	}
	if t.r.Exprs.Repetition.Count != nil {
		rep = repetition{countIndex: t.addr.Key.Value()}
	}
	c := t.newContext(ctx, t.in, rep)
	var out []addrs.AbsInstance
	for _, ref := range own {
		keys, err := c.keys().keysOf(ref, t.r.Keys())
		if err != nil {
			return nil
		}
		for _, key := range keys {
			if key != addrs.NoKey && key != t.addr.Key {
				out = append(out, t.addr.Abs().Instance(key))
			}
		}
	}
	slices.SortFunc(out, addrs.AbsInstance.Compare)
	return slices.Compact(out)
}
