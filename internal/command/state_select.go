package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/spelling"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// instanceAddrs lists the instances in a state that the targets cover, in the order of the module tree; no targets cover all. A module
// without a key means all of its instances where it stands alone, but not before a resource: nobody is to forget more than was named.
func instanceAddrs(st *states.State, targets []addrs.Target) []addrs.AbsInstance {
	var found []addrs.AbsInstance
	for r := range st.Resources() {
		for _, key := range r.SortedKeys() { // so that the list below is mostly sorted already
			addr := r.Addr.Instance(key)
			covers := func(t addrs.Target) bool {
				return t.ContainsInstance(addr) && (t.IsModule() || t.Module == addr.Module)
			}
			if len(targets) == 0 || slices.ContainsFunc(targets, covers) {
				found = append(found, addr)
			}
		}
	}
	addrs.SortByModuleTree(found, func(addr addrs.AbsInstance) addrs.AbsInstance { return addr })
	return found
}

// parseTargets reads addresses of modules, resources and instances.
func parseTargets(texts []string) ([]addrs.Target, tfdiags.Diagnostics) {
	var diags tfdiags.Diagnostics
	targets := make([]addrs.Target, 0, len(texts))
	for _, text := range texts {
		t, more := addrs.ParseTargetText(text)
		diags = diags.Append(more)
		if !more.HasErrors() {
			targets = append(targets, t)
		}
	}
	return targets, diags
}

// moveObjects renames what source names in one state to what dest names in another (or the same) state, and where objects depend on
// it. It gives the moves made, as pairs of addresses; both states are changed unless there are errors.
func moveObjects(from, to *states.State, source, dest addrs.Target) ([][2]string, tfdiags.Diagnostics) {
	m := &mover{from: from, to: to, was: make(map[addrs.AbsInstance]addrs.AbsInstance)}
	before := from.Clone()
	moves, diags := m.move(source, dest)
	switch {
	case diags.HasErrors():
	case from == to:
		m.followDependencies()
	default:
		from.RepairDependencies(states.DependencyRepair{Before: before})
	}
	return moves, diags
}

// mover moves objects from one state to another, or within one.
type mover struct {
	from, to *states.State
	was      map[addrs.AbsInstance]addrs.AbsInstance // by new address
}

// followDependencies has those who depend on what was moved depend on it where it is now. Where only some of a resource was moved,
// nobody knows whose dependents that had: the configuration will tell.
func (m *mover) followDependencies() {
	left := make(map[addrs.ConfigResource]bool)
	for r := range m.from.Resources() {
		left[r.Addr.Config()] = true
	}
	maps.DeleteFunc(m.was, func(_, old addrs.AbsInstance) bool { return left[old.Config()] })
	m.from.RenameDependencies(m.was)
}

func (m *mover) move(source, dest addrs.Target) ([][2]string, tfdiags.Diagnostics) {
	switch {
	case source.IsModule() && dest.IsModule():
		return m.module(source.Module, dest.Module)
	case source.IsModule() != dest.IsModule():
		return nil, tfdiags.Diagnostics{badMove(source, dest, "A module can only be moved to the address of a module, and a resource only to that of a resource.")}
	case source.Resource.Mode != dest.Resource.Mode || source.Resource.Type != dest.Resource.Type:
		return nil, tfdiags.Diagnostics{badMove(source, dest, "The type of a resource can't be changed.")}
	}
	all := m.from.Resource(source.Resource.InInstance(source.Module))
	if all == nil || len(all.Instances) == 0 {
		return nil, tfdiags.Diagnostics{noSuchObject(m.from, source)}
	}
	_, single := all.Instances[addrs.NoKey]
	if !source.HasKey && !dest.HasKey && !single {
		return m.resource(all, dest.Resource.InInstance(dest.Module))
	}
	return m.instance(all, source.Key, dest)
}

// module moves everything in one module instance and below it.
func (m *mover) module(source, dest addrs.ModuleInstance) ([][2]string, tfdiags.Diagnostics) {
	var inside []*states.Resource
	for r := range m.from.Resources() {
		if source.Contains(r.Addr.Module) {
			inside = append(inside, r)
		}
	}
	sourceTarget, destTarget := addrs.Target{Module: source}, addrs.Target{Module: dest}
	if len(inside) == 0 {
		return nil, tfdiags.Diagnostics{noSuchObject(m.from, sourceTarget)}
	}
	for r := range m.to.Resources() {
		if dest.Contains(r.Addr.Module) {
			return nil, tfdiags.Diagnostics{badMove(sourceTarget, destTarget, "There is something at the destination already.")}
		}
	}
	for _, r := range inside {
		addr := r.Addr
		addr.Module = dest + addrs.ModuleInstance(strings.TrimPrefix(string(r.Addr.Module), string(source)))
		m.relocate(r, addr)
	}
	return [][2]string{{sourceTarget.String(), destTarget.String()}}, nil
}

func (m *mover) resource(r *states.Resource, dest addrs.AbsResource) ([][2]string, tfdiags.Diagnostics) {
	if other := m.to.Resource(dest); other != nil && len(other.Instances) > 0 {
		return nil, tfdiags.Diagnostics{badMove(r.Addr, dest, "There is a resource at the destination already.")}
	}
	source := r.Addr.String()
	m.relocate(r, dest)
	return [][2]string{{source, dest.String()}}, nil
}

// relocate puts a whole resource under another address.
func (m *mover) relocate(r *states.Resource, dest addrs.AbsResource) {
	moved := &states.Resource{Addr: dest, Provider: r.Provider, Instances: make(map[addrs.InstanceKey]*states.Instance, len(r.Instances))}
	for key, inst := range r.Instances {
		moved.Instances[key] = unencoded(inst)
		m.was[dest.Instance(key)] = r.Addr.Instance(key)
	}
	m.from.RemoveResource(r.Addr)
	m.to.AddResource(moved)
}

func (m *mover) instance(r *states.Resource, key addrs.InstanceKey, dest addrs.Target) ([][2]string, tfdiags.Diagnostics) {
	source, inst := r.Addr.Instance(key), r.Instances[key]
	target := dest.Resource.InInstance(dest.Module).Instance(dest.Key)
	if inst == nil {
		return nil, tfdiags.Diagnostics{noSuchObject(m.from, source)}
	}
	if m.to.Instance(target) != nil {
		return nil, tfdiags.Diagnostics{badMove(source, target, "There is a resource instance at the destination already.")}
	}
	m.from.Forget(source)
	provider := r.Provider
	if len(r.Instances) == 0 {
		m.from.RemoveResource(r.Addr)
	}
	m.to.EnsureResource(target.Abs(), provider).Instances[target.Key] = unencoded(inst)
	m.was[target] = source
	return [][2]string{{source.String(), target.String()}}, nil
}

// unencoded gives a copy of an instance for another address: the text that stands for it in the file holds the old key.
func unencoded(inst *states.Instance) *states.Instance {
	fresh := func(o *states.Object) *states.Object {
		if o == nil {
			return nil
		}
		c := *o
		return &c
	}
	out := &states.Instance{Current: fresh(inst.Current), ProviderKey: inst.ProviderKey}
	for key, o := range inst.Deposed {
		if out.Deposed == nil {
			out.Deposed = make(map[addrs.DeposedKey]*states.Object)
		}
		out.Deposed[key] = fresh(o)
	}
	return out
}

func badMove(source, dest fmt.Stringer, why string) tfdiags.Diagnostic {
	return tfdiags.Errorf("Invalid target address", "Cannot move %s to %s. %s", source, dest, why)
}

func noSuchObject(st *states.State, addr fmt.Stringer) tfdiags.Diagnostic {
	return tfdiags.Errorf("No such object in the state",
		"The state does not contain %s.%s `tofu state list` shows what it contains.", addr, meantInState(st, addr))
}

// meantInState is the sentence that offers the resource or instance in the state whose address is nearest.
func meantInState(st *states.State, addr fmt.Stringer) string {
	var names []string
	for _, a := range instanceAddrs(st, nil) {
		names = append(names, a.String(), a.Abs().String())
	}
	return spelling.DidYouMean(addr.String(), names)
}
