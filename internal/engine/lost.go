package engine

import (
	"context"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// Dependencies that the state has lost
//
// The state names no instances after another program has written it, and none for an object that was
// just imported. The configuration then says which instances the stored dependencies mean, and
// which instances of its own block or module call an object depends on. A plan finds them while it
// plans the object. A destruction that doesn't plan all objects first, because it doesn't refresh
// them or only some of them, finds them before its walk, as far as their keys are known then.

// lostInstances finds the dependencies of objects in a state before any walk.
type lostInstances struct {
	w     *walk // isn't run
	early *earlyValues
	all   bool                              // whether the state names no instances at all
	near  map[storedBy]*states.Dependencies // the results of nearest
}

// storedBy is a set of dependencies that objects of a resource have.
type storedBy struct {
	r   *graph.Resource
	set *states.Dependencies
}

// withLostInstances returns the state with the dependencies by instance that it has lost. before is
// the state as it was read. If it names instances for some objects, only what dependencies by
// resource never include is added for the others: these may really depend on whole resources.
func (o *PlanOptions) withLostInstances(
	ctx context.Context, cfg *configs.Config, st, before *states.State, env *Env,
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
	f, out := lostInstances{w, early, !namesInstances(before), map[storedBy]*states.Dependencies{}}, st
	for res := range st.Resources() {
		r := w.graph.Resource(res.Addr.Config())
		if r == nil || r.Config == nil || r.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		for key, inst := range res.Instances {
			obj := inst.Current
			if obj == nil || len(obj.DependencyInstances) > 0 {
				continue
			}
			found := f.complete(ctx, r, res.Addr.Instance(key), obj)
			if found == obj {
				continue
			}
			if out == st {
				out = st.Clone()
			}
			out.Resource(res.Addr).Instances[key].Current = found
		}
	}
	return out
}

// complete returns an object with the dependencies that the state has lost. What the configuration
// says about a resource counts only if the object depends on that resource, or on nothing: other
// programs store no dependencies with imported objects, and drop those on a moved object.
func (f *lostInstances) complete(
	ctx context.Context, r *graph.Resource, addr addrs.AbsInstance, obj *states.Object,
) *states.Object {
	list, deps := f.of(ctx, r, addr), obj.Dependencies
	if deps != nil {
		list = slices.DeleteFunc(list, func(dep addrs.AbsInstance) bool {
			return !graph.InOwnCall(dep, addr) && !deps.Has(dep.Config())
		})
	}
	if len(list) == 0 {
		return obj
	}
	if f.all && !slices.ContainsFunc(list, f.missing) {
		deps = f.nearest(storedBy{r, deps})
	}
	return changed(obj, func(obj *states.Object) { obj.Dependencies, obj.DependencyInstances = deps, list })
}

// missing reports whether the state doesn't have an instance that the configuration names.
func (f *lostInstances) missing(dep addrs.AbsInstance) bool {
	return dep.Key != addrs.NoKey && f.w.op.Prior.Instance(dep) == nil
}

// nearest returns stored dependencies without those that others of them imply. Other programs store
// these too, and by resource, so that an object would depend on all instances.
func (f *lostInstances) nearest(stored storedBy) *states.Dependencies {
	if out, known := f.near[stored]; known {
		return out
	}
	var near, far []addrs.ConfigResource
	for dep := range stored.set.All() {
		if stored.r.Recorded.Dependencies.Has(dep) {
			near = append(near, dep)
		} else {
			far = append(far, dep)
		}
	}
	out := stored.set
	if len(far) > 0 {
		implied := f.impliedBy(near)
		far = slices.DeleteFunc(far, func(dep addrs.ConfigResource) bool { return implied[dep] })
		out = states.NewDependencies(append(near, far...))
	}
	f.near[stored] = out
	return out
}

// impliedBy returns the resources on which some resources depend, according to the configuration, by
// way of resources that have objects.
func (f *lostInstances) impliedBy(list []addrs.ConfigResource) map[addrs.ConfigResource]bool {
	out := map[addrs.ConfigResource]bool{}
	seen := map[*states.Dependencies]bool{} // many resources share a set
	for next := slices.Clone(list); len(next) > 0; next = next[1:] {
		of := f.w.graph.Resource(next[0])
		if of == nil || len(of.Prior) == 0 || of.Addr.Resource.Mode != addrs.Managed || seen[of.Recorded.Dependencies] {
			continue
		}
		seen[of.Recorded.Dependencies] = true
		for dep := range of.Recorded.Dependencies.All() {
			if !out[dep] {
				out[dep] = true
				next = append(next, dep)
			}
		}
	}
	return out
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

// of returns the instances that an object depends on. If the state names instances for other
// objects, it returns only those that dependencies by resource never include.
func (f *lostInstances) of(ctx context.Context, r *graph.Resource, addr addrs.AbsInstance) []addrs.AbsInstance {
	in := f.early.moduleAt(r.Module, addr.Module)
	x := f.early.expansion(r, in)
	if x == nil {
		return nil
	}
	t := &instance{w: f.w, r: r, addr: addr, in: in}
	i, declared := x.has(addr.Key)
	switch {
	case !declared:
		return t.lostReads(ctx)
	case !f.all && r.OwnInstances() == nil && !r.Module.ReadsSiblings():
		return nil
	}
	t.c = f.w.eval.newContext(ctx, in, x.repetition(i))
	if f.all {
		return slices.Clone(t.dependencyInstances(&plans.InstanceChange{}))
	}
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
		keys, err := c.keysOf(ref, t.r.Keys())
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
