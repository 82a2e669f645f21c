package engine

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/tfdiags"
)

// expandModule determines the instances of a module call in every instance of the calling module, or in
// those that the node covers. A call whose instances are unknown has one instance with an unknown key.
func (w *walk) expandModule(ctx context.Context, n *reads.Node) error {
	m := n.Call()
	if !n.In.IsRoot() {
		return w.expandCalls(ctx, n, w.modules.within(m.Parent, n.In))
	}
	errs := tfdiags.FromError(w.eval.refErrors(m.Parent, m.DependsOn))
	errs = errs.AppendError(w.expandCalls(ctx, n, w.modules.of(m.Parent)))
	for _, parent := range w.modules.undeclared(m.Parent) {
		if parent.decided == nil {
			undeclared{w.eval.visiting(n)}.expandUndeclared(ctx, m, parent)
			continue
		}
		_, _ = w.eval.callsIn(m, parent) // it never fails
	}
	if w.graph.Apart(n) != nil { // the instances were added in the order of visits
		w.modules.sort(m)
	}
	return errs.Err()
}

// expandCalls determines the instances of a module call in some instances of the calling module.
func (w *walk) expandCalls(ctx context.Context, n *reads.Node, in []*moduleInstance) error {
	m := n.Call()
	var errs tfdiags.Diagnostics
	e := w.eval.visiting(n)
	var deferred *deferredNode
	for _, parent := range in {
		if parent.calls[m.CallSlot] != nil {
			continue // the node of that module instance has determined these
		}
		if parent.decided != nil {
			_, err := e.callsIn(m, parent)
			errs = errs.AppendError(err)
			continue
		}
		err := e.expandCall(ctx, m, parent)
		if err != nil && e.graph.LeavesOut(m.Expand, parent.addr) {
			e.expandUnknown(m, parent)
			continue
		}
		if d := e.deferredBy(err); d != nil {
			deferred = d
			e.expandUnknown(m, parent)
			continue
		}
		errs = errs.AppendError(err)
	}
	if deferred != nil {
		w.deferrals.addModule(n, deferred)
	}
	return errs.Err()
}

// expandCall determines the instances of a module call in one instance of the calling module. When
// applying a plan that defers the call, the instances are unknown. When planning the rest of such a
// plan, expandCall returns an error; see leftForLater.
func (e *evaluator) expandCall(ctx context.Context, m *reads.Module, parent *moduleInstance) error {
	if e.op.Phase.Plans() && e.op.deferredModules[m.Path] {
		return leftForLater(m.Path.String())
	}
	if e.op.deferredModules[m.Path] {
		e.expandUnknown(m, parent)
		return nil
	}
	if m.Each != nil {
		if x := e.eachKeys(&m.Each.KeyedRead, parent); x != nil {
			e.addInstances(m, parent, x)
		} else {
			e.expandUnknown(m, parent)
		}
		return nil
	}
	x, err := e.newContext(ctx, parent, repetition{}).expand(m.Repetition, m.Path.String())
	switch {
	case err != nil:
		return err
	case e.op.Phase.InputsUnknown() && (m.Repetition.Repeats() && e.early == nil || x.mode == repeatUnknown):
		e.expandUnknown(m, parent)
		return nil
	}
	e.addInstances(m, parent, x.declaredBy(m.ChainedTo(), parent))
	return nil
}

// addInstances adds the instances of a module call.
func (e *evaluator) addInstances(m *reads.Module, parent *moduleInstance, x *expandedKeys) {
	ci := &callInstances{expandedKeys: *x}
	for i, key := range x.keys {
		e.addInstance(m, parent, ci, key, x.repetition(i))
	}
	undeclared{e}.addUndeclared(m, parent, ci)
	parent.calls[m.CallSlot] = ci
}

// expandUnknown adds one instance with an unknown key, which represents all instances of a call.
func (e *evaluator) expandUnknown(m *reads.Module, parent *moduleInstance) {
	ci := &callInstances{expandedKeys: expandedKeys{mode: repeatUnknown}}
	e.addInstance(m, parent, ci, addrs.UnknownKey, unknownRepetition(m.Repetition))
	parent.calls[m.CallSlot] = ci
}

func (e *evaluator) addInstance(
	m *reads.Module, parent *moduleInstance, ci *callInstances, key addrs.InstanceKey, rep repetition,
) {
	inst := newModuleInstance(m, parent.addr.Child(m.Call.Name, key))
	inst.parent, inst.rep = parent, rep
	inst.unknown = parent.unknown || key == addrs.UnknownKey && !e.op.Phase.InputsUnknown()
	e.addLazy(inst)
	e.modules.add(inst)
	ci.of = append(ci.of, inst)
}

func newModuleInstance(m *reads.Module, addr addrs.ModuleInstance) *moduleInstance {
	return &moduleInstance{
		addr: addr, module: m, values: make([]cty.Value, m.ValueSlots), resources: make([]*expansion, m.ResourceSlots),
		calls: make([]*callInstances, len(m.Calls)),
	}
}
