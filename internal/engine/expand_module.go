package engine

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/tfdiags"
)

// expandModule determines the instances of a module call in every instance of the calling module. A
// call whose instances are unknown has one instance with an unknown key.
func (w *walk) expandModule(n *graph.Node) error {
	e, m := w.eval, n.Object.(*graph.Module)
	errs := tfdiags.FromError(e.refErrors(m.Parent, m.DependsOn))
	for _, parent := range e.modules.of(m.Parent) {
		c := e.newContext(parent, repetition{})
		x, err := c.expandCall(m)
		if d := e.deferredBy(err); d != nil {
			w.deferModule(n, d)
			x, err = &expandedKeys{mode: repeatUnknown}, nil
		}
		if err != nil {
			errs = errs.AppendError(err)
			continue
		}
		ci := &callInstances{expandedKeys: *x}
		if x.mode == repeatUnknown || e.op.Phase == graph.PhaseValidate && m.Repetition.Repeats() {
			ci.mode = repeatUnknown
			e.addInstance(m, parent, ci, addrs.UnknownKey, unknownRepetition(m.Repetition))
		} else {
			for i, key := range x.keys {
				e.addInstance(m, parent, ci, key, x.repetition(i))
			}
		}
		parent.calls[m.CallSlot] = ci
	}
	return errs.Err()
}

// expandCall returns the instances of a module call. In an apply of a plan that defers the call, they
// are unknown.
func (c *evalContext) expandCall(m *graph.Module) (*expandedKeys, error) {
	if c.e.op.deferredModules[m.Path] {
		return &expandedKeys{mode: repeatUnknown}, nil
	}
	return c.expand(m.Repetition, m.Path.String())
}

func (e *evaluator) addInstance(
	m *graph.Module, parent *moduleInstance, ci *callInstances, key addrs.InstanceKey, rep repetition,
) {
	inst := newModuleInstance(m, parent.addr.Child(m.Call.Name, key))
	inst.parent, inst.rep = parent, rep
	inst.unknown = parent.unknown || key == addrs.UnknownKey && e.op.Phase != graph.PhaseValidate
	e.modules.add(inst)
	ci.of = append(ci.of, inst)
}

func newModuleInstance(m *graph.Module, addr addrs.ModuleInstance) *moduleInstance {
	return &moduleInstance{
		addr: addr, module: m, values: make([]cty.Value, m.ValueSlots), resources: make([]*expansion, m.ResourceSlots),
		calls: make([]*callInstances, len(m.Calls)),
	}
}
