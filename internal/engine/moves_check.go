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
		if other := froms[here]; other != nil {
			diags = diags.Append(tfdiags.Errorf("Ambiguous move statements",
				"A statement at %s:%d declared already that %s moved to %s.", other.rng.Filename, other.rng.Start.Line, from, &other.to).At(st.rng))
		}
		if other := tos[there]; other != nil {
			diags = diags.Append(tfdiags.Errorf("Ambiguous move statements",
				"A statement at %s:%d declared already that %s moved to %s.", other.rng.Filename, other.rng.Start.Line, &other.from, to).At(st.rng))
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

// declares tells whether the configuration still declares what a statement moves away. Which keys a repeated block has is known only
// later, see declaredInstances.
func (st *moveStatement) declares(cfg *configs.Config) bool {
	from, to := &st.from, &st.to
	c := cfg.Descendant(from.module())
	if c == nil {
		return false
	}
	if from.isModule() {
		call := c.Call
		if call == nil || call.Count != nil || call.ForEach != nil {
			return false
		}
		return from.last().key == addrs.NoKey
	}
	rc := c.Module.Resources[from.res]
	if rc == nil {
		return false
	}
	repeats := rc.Count != nil || rc.ForEach != nil
	sameBlock := !to.isModule() && to.res == from.res && to.module() == from.module()
	switch {
	case from.whole:
		return !repeats || !sameBlock
	case from.key == addrs.NoKey:
		return !repeats
	}
	return false
}

// checkMovedInstances looks for instances that are declared although a statement moves them away, now that it is known which there
// are.
func (w *walk) checkMovedInstances() tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	for _, st := range collectMoves(w.cfg) {
		m := w.modules[st.from.module()]
		if m == nil || m.cfg == nil {
			continue
		}
		for _, in := range m.instances {
			if !st.from.coversSteps(in.addr) {
				continue
			}
			if st.from.isModule() && st.from.last().any {
				continue // looked at before
			}
			if found, ok := st.declaredIn(in); ok {
				diags = diags.Append(st.stillExists(found))
				break
			}
		}
	}
	return diags
}

// declaredIn tells whether a module instance is, or has, what a statement moves away by its key.
func (st *moveStatement) declaredIn(in *moduleInstance) (string, bool) {
	if st.from.isModule() {
		return in.addr.String(), true
	}
	r := in.module.resources[st.from.res]
	if r == nil || r.cfg == nil || st.from.whole || st.from.key == addrs.NoKey {
		return "", false
	}
	addr := st.from.res.InInstance(in.addr).Instance(st.from.key)
	_, ok := in.resources[r.slot].has(st.from.key)
	return addr.String(), ok
}

// coversSteps tells whether an endpoint's module path means a module instance.
func (e *endpoint) coversSteps(m addrs.ModuleInstance) bool {
	for i, s := range m.Steps() {
		if !e.steps[i].covers(endStep{name: s.Name, key: s.Key}) {
			return false
		}
	}
	return true
}
