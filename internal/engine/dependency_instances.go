package engine

import (
	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
)

// dependencyInstances returns the instances that the changed object of t depends on, in the form
// that the state stores. An address without a key means that the object depends on none of that
// repeated resource's instances. Instances in other modules are included in two cases: the block
// reads their module instance by a known key, or an argument of the module's call reads them in
// another instance of the same call.
func (t *instance) dependencyInstances(change *plans.InstanceChange) []addrs.AbsInstance {
	var out []addrs.AbsInstance
	add := func(r addrs.Resource, key addrs.InstanceKey) {
		own := r == change.Addr.Resource
		if r.Mode == addrs.Managed && (key != addrs.NoKey || !own) && !t.r.Recorded.Whole[r] {
			out = append(out, r.InInstance(change.Addr.Module).Instance(key))
		}
	}
	for _, read := range change.Reads {
		if t.r.Module.Resources[read.Resource] == nil {
			continue // it is read by an alias
		}
		add(read.Resource, read.Key)
	}
	if t.c == nil || t.in == nil {
		return out
	}
	for _, read := range t.r.Constant {
		if x := t.in.resources[read.Of.Slot]; x == nil || x.mode == repeatUnknown {
			continue
		}
		keys, err := t.c.keysRead(read)
		if err != nil {
			continue
		}
		if len(keys) == 0 {
			keys = []addrs.InstanceKey{addrs.NoKey}
		}
		for _, key := range keys {
			add(read.Of.Addr.Resource, key)
		}
	}
	for _, need := range t.r.CallNeeds {
		out = t.addCallNeed(out, need)
	}
	own := map[*graph.Resource]bool{}
	for _, need := range t.w.graph.SiblingNeeds(t.r, t.addr.Module) {
		for _, of := range need.Of {
			if t.r.Recorded.Dependencies.Has(of.Addr) && !own[of] {
				// The list must be complete for each resource that it names.
				own[of] = true
				out = t.addInstances(out, of, t.addr.Module)
			}
			out = t.addInstances(out, of, need.In)
		}
	}
	return out
}

// addCallNeed adds the instances of the resources in need.Of, within those instances of the module
// call that the block reads by key. If a key is not known, it adds nothing. If the block reads no
// instance of the call, it adds addresses without keys.
func (t *instance) addCallNeed(list []addrs.AbsInstance, need graph.CallNeed) []addrs.AbsInstance {
	seen := map[addrs.InstanceKey]bool{}
	first := len(list)
	for _, read := range t.r.CallReads {
		if read.Call != need.Call {
			continue
		}
		for _, ref := range read.Refs {
			if t.c.unused(ref) {
				continue
			}
			key, err := t.c.keyOf(ref, need.Call.Repetition)
			if err != nil {
				return list[:first]
			}
			if seen[key] {
				continue
			}
			seen[key] = true
			for _, of := range need.Of {
				list = t.addInstances(list, of, t.in.addr.Child(need.Call.Call.Name, key))
			}
		}
	}
	if len(list) == first {
		for _, of := range need.Of {
			list = append(list, of.Addr.Resource.InInstance(of.Module.Path.UnkeyedInstance()).Instance(addrs.NoKey))
		}
	}
	return list
}

// addInstances adds the instances of a managed resource in a module instance or in the modules that
// it calls.
func (t *instance) addInstances(
	list []addrs.AbsInstance, of *graph.Resource, in addrs.ModuleInstance,
) []addrs.AbsInstance {
	if of.Addr.Resource.Mode != addrs.Managed {
		return list
	}
	for _, m := range t.w.modules.within(of.Module, in) {
		if x := m.resources[of.Slot]; x != nil {
			for _, key := range x.keys {
				list = append(list, of.Addr.Resource.InInstance(m.addr).Instance(key))
			}
		}
	}
	return list
}
