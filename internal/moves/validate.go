package moves

import (
	"fmt"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// Validate checks the moved blocks against each other and against the configuration.
func Validate(cfg *configs.Config) error {
	var errs, taken tfdiags.Groups
	for c := range cfg.AllModules() {
		if len(c.Module.RootMoves) > 0 && !c.Path.IsRoot() {
			errs.Add(tfdiags.Errorf("Move between root modules in a module", "Only a root module can have a moved block with "+
				"an address in another root module. Write the block there.").At(c.Module.RootMoves[0].Range), c.Path.String())
		}
	}
	froms, tos := map[endName]*statement{}, map[endName]*statement{}
	for _, st := range collect(cfg) {
		from, to := st.from.String(), st.to.String()
		if from == to {
			errs.Add(tfdiags.Errorf("Redundant move statement", "This statement moves %s to itself.", from).At(st.rng), from)
			continue
		}
		if st.declares(cfg) {
			errs.Add(st.stillExists(from), from)
		}
		ends := st.ends()
		here, there := endName{from, ends.from.open()}, endName{to, ends.to.open()}
		// The same statement may occur twice, for example after a merge of two branches that
		// contain it.
		if other := froms[here]; other != nil && other.to.String() != to {
			errs.Add(tfdiags.Errorf(
				"Ambiguous move statements",
				"A statement at %s already declares that %s moved to %s.",
				tfdiags.Place(other.rng),
				from,
				&other.to,
			).At(st.rng), from)
		}
		if other := tos[there]; other != nil && other.from.String() != from {
			taken.Add(tfdiags.Errorf(
				"Ambiguous move statements",
				"A statement at %s already declares that %s moved to %s.",
				tfdiags.Place(other.rng),
				&other.from,
				to,
			).At(st.rng), to)
		}
		froms[here], tos[there] = st, st
	}
	return tfdiags.Join(errs.Err(), taken.Err())
}

// endName identifies what an endpoint refers to: one instance, or all instances of a resource or
// module call. Two statements can contradict each other only if their names are equal.
type endName struct {
	text string
	open bool
}

func (st *statement) stillExists(from string) tfdiags.Diagnostic {
	to := st.to.String()
	if st.away != "" {
		to = fmt.Sprintf("root[%s].%s", tfdiags.Quote(st.away), to)
	}
	return tfdiags.Errorf(
		"Moved object still exists",
		"The block says that %[1]s has moved to %[2]s, but the configuration still has %[1]s. "+
			"Rename it, or remove the moved block.",
		from,
		to,
	).At(st.rng)
}

// declares reports whether the configuration still declares the object that the statement moves
// away. If the object is in a repeated module or resource, declares returns false, and
// CheckInstances checks the instances.
func (st *statement) declares(cfg *configs.Config) bool {
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
		return from.last().anyKey && st.leavesCall(c.Call)
	}
	rc := c.Module.Resources[from.res]
	return rc != nil && from.whole && st.leavesResource(rc)
}

// holder returns the path of the module that declares the old address. For a resource or module
// call, this is the module that contains it. For a module instance, it is the instance itself.
func (st *statement) holder() []endStep {
	if st.from.isModule() && st.from.last().anyKey {
		return st.from.steps[:len(st.from.steps)-1]
	}
	return st.from.steps
}

func repeats(call *configs.ModuleCall) bool {
	return call.Count != nil || call.ForEach != nil || call.Enabled != nil
}

// leavesResource reports whether a statement takes objects away from rc, although rc is still
// declared. The statement's old address has no key. leavesResource returns false if the statement
// moves the instance without a key to one with a key, and rc has count or for_each: rc then has no
// instance without a key.
func (st *statement) leavesResource(rc *configs.Resource) bool {
	sameBlock := st.away == "" && !st.to.isModule() && st.to.res == st.from.res && st.to.module() == st.from.module()
	return !sameBlock || rc.Count == nil && rc.ForEach == nil
}

func (st *statement) leavesCall(call *configs.ModuleCall) bool {
	sameBlock := st.away == "" && st.to.isModule() && st.to.module() == st.from.module()
	return !sameBlock || call.Count == nil && call.ForEach == nil
}

// CheckInstances returns an error for each statement that moves away an instance that the
// configuration still declares. It complements Validate, because the instances are known only once
// count and for_each have been evaluated. instances lists the instances of a module. declared
// reports whether a resource instance is declared.
func CheckInstances(
	cfg *configs.Config,
	instances func(addrs.Module) []addrs.ModuleInstance,
	declared func(addrs.AbsInstance) bool,
) error {
	var errs tfdiags.Groups
	known := &instanceIndex{of: instances, sets: map[addrs.Module]map[addrs.ModuleInstance]bool{}}
	for _, st := range append(collect(cfg), leaving(cfg)...) {
		holder := st.holder()
		c := cfg.Descendant(pathOf(holder))
		if c == nil {
			continue
		}
		for _, in := range known.matching(c.Path, holder) {
			if found, ok := st.declaredIn(c, in, declared); ok {
				errs.Add(st.stillExists(found), found)
				break
			}
		}
	}
	return errs.Err()
}

// declaredIn reports whether the configuration still declares what the statement moves away from an
// instance of the module c: a resource, a resource instance or a module call, or the module
// instance itself. It also returns the address of what is declared.
func (st *statement) declaredIn(
	c *configs.Config,
	in addrs.ModuleInstance,
	declared func(addrs.AbsInstance) bool,
) (string, bool) {
	from := &st.from
	if from.isModule() {
		if !from.last().anyKey {
			return in.String(), true
		}
		child := c.Children[from.last().name]
		return from.String(), child != nil && st.leavesCall(child.Call)
	}
	rc := c.Module.Resources[from.res]
	if rc == nil {
		return "", false
	}
	if from.whole {
		return from.res.InInstance(in).String(), st.leavesResource(rc)
	}
	addr := from.res.InInstance(in).Instance(from.key)
	return addr.String(), declared(addr)
}

// instanceIndex finds the instances of modules that match a path. It takes no longer for a path with all
// keys if the module has many instances.
type instanceIndex struct {
	of   func(addrs.Module) []addrs.ModuleInstance
	sets map[addrs.Module]map[addrs.ModuleInstance]bool
}

func (x *instanceIndex) matching(module addrs.Module, steps []endStep) []addrs.ModuleInstance {
	if slices.ContainsFunc(steps, func(s endStep) bool { return s.anyKey }) {
		var out []addrs.ModuleInstance
		for _, in := range x.of(module) {
			if coversSteps(steps, in) {
				out = append(out, in)
			}
		}
		return out
	}
	if x.sets[module] == nil {
		x.sets[module] = map[addrs.ModuleInstance]bool{}
		for _, in := range x.of(module) {
			x.sets[module][in] = true
		}
	}
	exact := addrs.RootInstance
	for _, s := range steps {
		exact = exact.Child(s.name, s.key)
	}
	if !x.sets[module][exact] {
		return nil
	}
	return []addrs.ModuleInstance{exact}
}

// coversSteps reports whether a module path matches a module instance.
func coversSteps(steps []endStep, m addrs.ModuleInstance) bool {
	for i, s := range m.Steps() {
		if !steps[i].covers(endStep{name: s.Name, key: s.Key}) {
			return false
		}
	}
	return true
}
