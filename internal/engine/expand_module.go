package engine

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// expandModule decides the instances of a module call in every instance of the calling module.
func (w *walk) expandModule(m *module) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	m.index = map[addrs.ModuleInstance]*moduleInstance{}
	for _, parent := range m.parent.instances {
		c := w.context(parent, repetition{})
		x, more := c.expand(m.rep, m.path.String())
		diags = diags.Append(more)
		if more.HasErrors() {
			continue
		}
		ci := &callInstances{mode: x.mode, keys: x.keys}
		if w.phase.unknownInputs && (m.rep.repeats() || x.mode == repeatUnknown) {
			ci.mode = repeatUnknown
			w.addInstance(m, parent, ci, addrs.UnknownKey, unknownRepetition(m.rep))
		} else {
			for i, key := range x.keys {
				w.addInstance(m, parent, ci, key, x.repetition(i))
			}
		}
		parent.calls[m.callSlot] = ci
	}
	return diags
}

func (w *walk) addInstance(m *module, parent *moduleInstance, ci *callInstances, key addrs.InstanceKey, rep repetition) {
	inst := newModuleInstance(m, parent.addr.Child(m.call.Name, key))
	inst.parent, inst.rep = parent, rep
	m.instances = append(m.instances, inst)
	m.index[inst.addr] = inst
	ci.of = append(ci.of, inst)
}

func newModuleInstance(m *module, addr addrs.ModuleInstance) *moduleInstance {
	return &moduleInstance{
		addr: addr, module: m, values: make([]cty.Value, m.valueSlots), resources: make([]*expansion, m.resourceSlots),
		calls: make([]*callInstances, len(m.calls)),
	}
}

// expandRoot makes the root module's only instance.
func (w *walk) expandRoot() {
	inst := newModuleInstance(w.root, addrs.RootInstance)
	w.root.instances = []*moduleInstance{inst}
	w.root.index = map[addrs.ModuleInstance]*moduleInstance{addrs.RootInstance: inst}
}

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

// dropAbsent leaves out instances that have no object, where there may be none: what doesn't exist and isn't planned is not going to.
// Of counted ones these are the last: the others keep their places.
func (x *expansion) dropAbsent(rep repetitionExprs) {
	if !rep.repeats() {
		if rep.enabled != nil && len(x.objs) == 1 && x.objs[0] == cty.NilVal {
			x.mode = repeatDisabled
		}
		return
	}
	keys, objs := x.keys, x.objs
	if rep.count != nil {
		n := len(objs)
		for n > 0 && objs[n-1] == cty.NilVal {
			n--
		}
		x.keys, x.objs = keys[:n], objs[:n]
		return
	}
	x.keys, x.objs = nil, nil
	for i, v := range objs {
		if v != cty.NilVal {
			x.keys, x.objs = append(x.keys, keys[i]), append(x.objs, v)
		}
	}
}

// keepStored leaves out what doesn't exist and adds what the configuration doesn't want any more: a plan for refreshing only makes the
// one as little as it destroys the other.
func (w *walk) keepStored(r *resource, in *moduleInstance, x *expansion) tfdiags.Diagnostics {
	if !r.exprs.rep.repeats() {
		x.dropAbsent(r.exprs.rep)
		return nil
	}
	w.mu.Lock()
	keys := r.exprs.rep.storedKeys(w.state.Resource(r.addr.Resource.InInstance(in.addr)))
	w.mu.Unlock()
	objs := make([]cty.Value, len(keys))
	for i, key := range keys {
		if at, ok := x.has(key); ok {
			objs[i] = x.objs[at]
		}
	}
	x.keys, x.objs = keys, objs
	return w.fillFromState(r, in, x)
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

// whole puts the values of instances together as expressions see them; disabled is what there is where none is enabled.
func (m repetitionMode) whole(keys []addrs.InstanceKey, values []cty.Value, disabled cty.Value) cty.Value {
	switch m {
	case repeatDisabled:
		return disabled
	case repeatCount:
		return cty.TupleVal(values)
	case repeatForEach:
		byKey := make(map[string]cty.Value, len(values))
		for i, key := range keys {
			s, _ := key.IsString()
			byKey[s] = values[i]
		}
		return cty.ObjectVal(byKey)
	}
	return values[0]
}
