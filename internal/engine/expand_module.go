package engine

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/engine/graph"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// expandModule decides the instances of a module call in every instance of the calling module.
func (w *walk) expandModule(m *graph.Module) tfdiags.Diagnostics {
	diags := w.refusals(m.Parent, &m.DependsOn)
	w.modules[m.Index].byAddr = map[addrs.ModuleInstance]*moduleInstance{}
	for _, parent := range w.instances(m.Parent) {
		c := w.context(parent, repetition{})
		x, more := c.expand(m.Repetition, m.Path.String())
		diags = diags.Append(more)
		if more.HasErrors() {
			continue
		}
		ci := &callInstances{instances: *x}
		if w.op.Phase == graph.PhaseValidate && (m.Repetition.Repeats() || x.mode == repeatUnknown) {
			ci.mode = repeatUnknown
			w.addInstance(m, parent, ci, addrs.UnknownKey, unknownRepetition(m.Repetition))
		} else {
			for i, key := range x.keys {
				w.addInstance(m, parent, ci, key, x.repetition(i))
			}
		}
		parent.calls[m.CallSlot] = ci
	}
	return diags
}

func (w *walk) addInstance(m *graph.Module, parent *moduleInstance, ci *callInstances, key addrs.InstanceKey, rep repetition) {
	inst := newModuleInstance(m, parent.addr.Child(m.Call.Name, key))
	inst.parent, inst.rep = parent, rep
	res := &w.modules[m.Index]
	res.instances = append(res.instances, inst)
	res.byAddr[inst.addr] = inst
	ci.of = append(ci.of, inst)
}

func newModuleInstance(m *graph.Module, addr addrs.ModuleInstance) *moduleInstance {
	return &moduleInstance{
		addr: addr, module: m, values: make([]cty.Value, m.ValueSlots), resources: make([]*expansion, m.ResourceSlots),
		calls: make([]*callInstances, len(m.Calls)),
	}
}

// expandRoot adds the root module's only instance.
func (w *walk) expandRoot() {
	inst := newModuleInstance(w.graph.Root, addrs.RootInstance)
	res := &w.modules[w.graph.Root.Index]
	res.instances = []*moduleInstance{inst}
	res.byAddr = map[addrs.ModuleInstance]*moduleInstance{addrs.RootInstance: inst}
}
