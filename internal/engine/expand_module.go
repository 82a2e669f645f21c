package engine

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// expandModule decides the instances of a module call in every instance of the calling module.
func (w *walk) expandModule(m *module) tfdiags.Diagnostics {
	diags := w.refusals(m.parent, &m.dependsOn)
	w.modules[m.num].byAddr = map[addrs.ModuleInstance]*moduleInstance{}
	for _, parent := range w.instances(m.parent) {
		c := w.context(parent, repetition{})
		x, more := c.expand(m.rep, m.path.String())
		diags = diags.Append(more)
		if more.HasErrors() {
			continue
		}
		ci := &callInstances{instances: *x}
		if w.op.phase == PhaseValidate && (m.rep.repeats() || x.mode == repeatUnknown) {
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
	res := &w.modules[m.num]
	res.instances = append(res.instances, inst)
	res.byAddr[inst.addr] = inst
	ci.of = append(ci.of, inst)
}

func newModuleInstance(m *module, addr addrs.ModuleInstance) *moduleInstance {
	return &moduleInstance{
		addr: addr, module: m, values: make([]cty.Value, m.valueSlots), resources: make([]*expansion, m.resourceSlots),
		calls: make([]*callInstances, len(m.calls)),
	}
}

// expandRoot adds the root module's only instance.
func (w *walk) expandRoot() {
	inst := newModuleInstance(w.graph.root, addrs.RootInstance)
	res := &w.modules[w.graph.root.num]
	res.instances = []*moduleInstance{inst}
	res.byAddr = map[addrs.ModuleInstance]*moduleInstance{addrs.RootInstance: inst}
}
