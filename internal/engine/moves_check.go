package engine

import (
	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// validateMoves checks the statements against the configuration; its errors come before anything that went wrong because of them.
func validateMoves(cfg *configs.Config) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	froms, tos := map[movePlace]*moveStatement{}, map[movePlace]*moveStatement{}
	for _, st := range collectMoves(cfg) {
		from, to := st.from.String(), st.to.String()
		if from == to {
			diags = diags.Append(tfdiags.Errorf("Redundant move statement", "This statement moves %s to itself.", from).At(st.rng))
			continue
		}
		if st.declares(cfg) {
			diags = diags.Append(st.stillExists(from))
		}
		ends := st.ends()
		here, there := movePlace{from, ends.from.open()}, movePlace{to, ends.to.open()}
		// A statement may be there twice, as when two branches that both have it are merged.
		if other := froms[here]; other != nil && other.to.String() != to {
			diags = diags.Append(tfdiags.Errorf("Ambiguous move statements",
				"A statement at %s declared already that %s moved to %s.", tfdiags.Place(other.rng), from, &other.to).At(st.rng))
		}
		if other := tos[there]; other != nil && other.from.String() != from {
			diags = diags.Append(tfdiags.Errorf("Ambiguous move statements",
				"A statement at %s declared already that %s moved to %s.", tfdiags.Place(other.rng), &other.from, to).At(st.rng))
		}
		froms[here], tos[there] = st, st
	}
	return diags
}

// movePlace is what one end of a statement names: an instance, or all that a resource or call has. Statements about the one and the
// other don't contradict each other.
type movePlace struct {
	text string
	open bool
}

func (st *moveStatement) stillExists(from string) tfdiags.Diagnostic {
	return tfdiags.Errorf("Moved object still exists",
		"The block says that %[1]s has moved to %[2]s, but the configuration still has %[1]s. Rename it, or remove the moved block.", from, &st.to).At(st.rng)
}

// declares tells whether the configuration surely still declares what a statement moves away. Which instances repeated modules and
// resources have is known only later, see checkMovedInstances.
func (st *moveStatement) declares(cfg *configs.Config) bool {
	from, holder := &st.from, st.holder()
	for i, s := range holder {
		c := cfg.Descendant(pathOf(holder[:i+1]))
		if c == nil || repeats(c.Call) || s.key != addrs.NoKey {
			return false
		}
	}
	c := cfg.Descendant(from.module())
	switch {
	case c == nil:
		return false
	case from.isModule():
		return from.last().any && st.leavesCall(c.Call)
	}
	rc := c.Module.Resources[from.res]
	return rc != nil && from.whole && st.leavesResource(rc)
}

// holder is the module path of what declares the statement's old address: a resource or call is declared by its module, whatever
// instances it has; an instance of a module by that itself.
func (st *moveStatement) holder() []endStep {
	if st.from.isModule() && st.from.last().any {
		return st.from.steps[:len(st.from.steps)-1]
	}
	return st.from.steps
}

func repeats(call *configs.ModuleCall) bool {
	return call.Count != nil || call.ForEach != nil || call.Enabled != nil
}

// leavesResource tells whether a statement that names no key can't mean a resource as it is declared. The instance without a key may
// become one of the same resource's instances with keys.
func (st *moveStatement) leavesResource(rc *configs.Resource) bool {
	sameBlock := !st.to.isModule() && st.to.res == st.from.res && st.to.module() == st.from.module()
	return !sameBlock || rc.Count == nil && rc.ForEach == nil
}

func (st *moveStatement) leavesCall(call *configs.ModuleCall) bool {
	sameBlock := st.to.isModule() && st.to.module() == st.from.module()
	return !sameBlock || call.Count == nil && call.ForEach == nil
}

// checkMovedInstances looks for instances that are declared although a statement moves them away, now that it is known which there
// are.
func (w *walk) checkMovedInstances() tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	for _, st := range collectMoves(w.cfg) {
		holder := st.holder()
		m := w.modules[pathOf(holder)]
		if m == nil || m.cfg == nil {
			continue
		}
		for _, in := range m.instances {
			if !coversSteps(holder, in.addr) {
				continue
			}
			if found, ok := st.declaredIn(in); ok {
				diags = diags.Append(st.stillExists(found))
				break
			}
		}
	}
	return diags
}

// declaredIn tells whether a module instance is, or has, what a statement moves away.
func (st *moveStatement) declaredIn(in *moduleInstance) (string, bool) {
	from := &st.from
	if from.isModule() {
		if !from.last().any {
			return in.addr.String(), true
		}
		c := in.module.cfg.Children[from.last().name]
		return from.String(), c != nil && st.leavesCall(c.Call)
	}
	r := in.module.resources[from.res]
	if r == nil || r.cfg == nil {
		return "", false
	}
	if from.whole {
		return from.res.InInstance(in.addr).String(), st.leavesResource(r.cfg)
	}
	addr := from.res.InInstance(in.addr).Instance(from.key)
	_, ok := in.resources[r.slot].has(from.key)
	return addr.String(), ok
}

// coversSteps tells whether a module path means a module instance.
func coversSteps(steps []endStep, m addrs.ModuleInstance) bool {
	for i, s := range m.Steps() {
		if !steps[i].covers(endStep{name: s.Name, key: s.Key}) {
			return false
		}
	}
	return true
}
