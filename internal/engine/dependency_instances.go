package engine

import (
	"math"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
)

// dependencyInstances returns the instances that the changed object of t depends on, in the form
// that the state stores. It leaves out a resource if the dependencies by resource already contain
// the same information. An address without a key means that the object depends on no instance of
// that resource.
func (t *instance) dependencyInstances(change *plans.InstanceChange) []addrs.AbsInstance {
	if !t.w.graph.Repeats {
		return nil
	}
	f, all := t.w.needs, reads.Place{Node: t.r.Node, In: t.addr.Module}
	if f.places.ReadsByKey(t.r) {
		out, _ := t.findDependencyInstances(change)
		return out
	}
	f.mu.Lock()
	out, known := f.stored[all]
	f.mu.Unlock()
	if known {
		return out
	}
	out, _ = t.findDependencyInstances(change)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stored[all] = out
	return out
}

// findDependencyInstances returns all instances that the state stores as dependencies of the object
// of t. own holds those that dependencies by resource don't include; see inOwnCall.
func (t *instance) findDependencyInstances(change *plans.InstanceChange) (all, own []addrs.AbsInstance) {
	list, deps := t.w.needs.ofBlock(t, change), t.r.Recorded.Dependencies
	var others []addrs.AbsInstance
	found := map[addrs.ConfigResource]bool{}
	complete := true
	for len(list) > 0 {
		of, n := list[0].of, 1
		for n < len(list) && list[n].of == of {
			n++
		}
		needs, stored := list[:n], deps.Has(of.Addr)
		list = list[n:]
		found[of.Addr] = true
		if t.inOwnCall(needs) {
			if t.unsure(needs) {
				continue
			}
			if stored { // the list must be complete for each resource that it names
				needs = compact(append(slices.Clone(needs), need{of: of, in: t.addr.Module}))
			}
			own, _ = t.appendInstances(own, needs, math.MaxInt)
			continue
		}
		if stored && t.coversAll(needs) {
			continue
		}
		more, ok := t.appendInstances(others, needs, maxSingleNeeds)
		if ok {
			others = more
		}
		complete = complete && (stored || ok)
	}
	if !complete {
		// What is left out is stored only as a dependency of the resources that deps names, so the
		// object must depend on all of their instances.
		others = nil
	}
	for dep := range deps.All() {
		of := t.w.graph.Resource(dep)
		if complete && dep.Resource.Mode == addrs.Managed && !found[dep] && !t.readsSame(of) {
			others = append(others, dep.Resource.InInstance(t.unkeyed(of)).Instance(addrs.NoKey))
		}
	}
	all = append(others, own...)
	slices.SortFunc(all, addrs.AbsInstance.Compare)
	slices.SortFunc(own, addrs.AbsInstance.Compare)
	return slices.Clip(all), own
}

// ownInstances returns the instances that the object of t depends on and that dependencies by
// resource don't include.
func (t *instance) ownInstances(change *plans.InstanceChange) []addrs.AbsInstance {
	if !t.w.graph.Repeats {
		return nil
	}
	_, own := t.findDependencyInstances(change)
	return own
}

// inOwnCall reports whether dependencies by resource leave out needs, which are all for one block.
// They do if it is the block of t, or if it is in the same module and some needs are for other
// instances of that module.
func (t *instance) inOwnCall(needs []need) bool {
	of := needs[0].of
	inSibling := func(n need) bool { return !n.several() && n.in != t.addr.Module }
	return of == t.r || of.Module == t.r.Module && slices.ContainsFunc(needs, inSibling)
}

// unsure reports whether needs that are in the own call of t are not known before the walk. They
// would then include t itself, or all instances of the call.
func (t *instance) unsure(needs []need) bool {
	return t.w.eval.early != nil && slices.ContainsFunc(needs, func(n need) bool {
		return n.several() || !n.one && n.of == t.r && n.in == t.addr.Module
	})
}

// coversAll reports whether needs are the same as a dependency of t on the whole resource.
func (t *instance) coversAll(needs []need) bool {
	n := needs[0]
	switch {
	case n.one:
		return false
	case n.of.Module == t.r.Module:
		return n.several() || len(needs) == 1
	}
	return len(needs) == 1 && n.in == n.in.Module().UnkeyedInstance()
}

// readsSame reports whether all readers in the module instance of t depend on the same instances of
// a resource, if they depend on it at all.
func (t *instance) readsSame(of *reads.Resource) bool {
	return !of.Exprs.Repetition.Repeats() && (of.Module == t.r.Module || !of.Module.Repeated())
}

// unkeyed returns the module instance of an address without a key. Such an address means that t
// depends on no instance of a resource; see dependencyInstances.
func (t *instance) unkeyed(of *reads.Resource) addrs.ModuleInstance {
	if of.Module == t.r.Module {
		return t.addr.Module
	}
	return of.Module.Path.UnkeyedInstance()
}

// appendInstances appends to out the instances in needs, without t itself. All needs are for one
// resource. If whole resources are needed, it returns false if some of their instances are not
// decided yet. It appends nothing and returns false if their instances are not known before the walk,
// or if there are more than most of them.
func (t *instance) appendInstances(
	out []addrs.AbsInstance, needs []need, most int,
) (_ []addrs.AbsInstance, ok bool) {
	ok = true
	of, first := needs[0].of, len(out)
	add := func(in addrs.ModuleInstance, key addrs.InstanceKey) {
		if addr := of.Addr.Resource.InInstance(in).Instance(key); addr != t.addr {
			out = append(out, addr)
		}
	}
	for _, n := range needs {
		if n.one {
			add(n.in, n.key)
			continue
		}
		modules, known := t.w.eval.within(of.Module, n.in)
		if !known {
			return out[:first], false
		}
		for _, in := range modules {
			x := t.w.eval.expansionOf(of, in)
			if x == nil && of.Exprs.Repetition == (reads.Repetition{}) {
				x = &expansion{expandedKeys: expandedKeys{keys: []addrs.InstanceKey{addrs.NoKey}}}
			}
			switch {
			case x == nil && t.w.eval.early != nil:
				return out[:first], false
			case x == nil:
				ok = false
				continue
			case len(out)-first+len(x.keys) > most:
				return out[:first], false
			}
			for _, key := range x.keys {
				add(in.addr, key)
			}
		}
	}
	return out, ok
}
