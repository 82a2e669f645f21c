package moves

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Renamed is a move that Rename has carried out.
type Renamed struct{ From, To string }

// Rename moves objects from the address source in one state to the address dest in another state.
// The two states may be the same; then dependencies on the objects are renamed too. Rename changes
// the states only if there is no error.
func Rename(from, to *states.State, source, dest addrs.Target) ([]Renamed, error) {
	r := &renamer{from: from, to: to, was: make(map[addrs.AbsInstance]addrs.AbsInstance)}
	before := from.Clone()
	renamed, err := r.rename(source, dest)
	switch {
	case err != nil:
		return nil, err
	case from == to:
		r.renameDependencies()
	default:
		from.RepairDependencies(states.DependencyRepair{Before: before})
	}
	return renamed, nil
}

type renamer struct {
	from, to *states.State
	calls    bool                                    // the address of a module without a key is that of all its instances, as in moved blocks
	was      map[addrs.AbsInstance]addrs.AbsInstance // old address by new address
}

// renameDependencies updates dependencies on a resource if all of its instances were moved. If only
// some of them were moved, the state does not say which instances the dependents need. The next
// plan updates these dependencies.
func (r *renamer) renameDependencies() {
	remaining := make(map[addrs.ConfigResource]bool)
	for res := range r.from.Resources() {
		remaining[res.Addr.Config()] = true
	}
	maps.DeleteFunc(r.was, func(_, old addrs.AbsInstance) bool { return remaining[old.Config()] })
	r.from.RenameDependencies(r.was)
}

func (r *renamer) rename(source, dest addrs.Target) ([]Renamed, error) {
	switch {
	case source.IsModule() && dest.IsModule():
		return r.module(source.Module, dest.Module)
	case source.IsModule() != dest.IsModule():
		return nil, invalidRename(source, dest,
			"A module can only be moved to the address of a module, and a resource only to that of a resource.")
	case source.Resource.Mode != dest.Resource.Mode || source.Resource.Type != dest.Resource.Type:
		return nil, invalidRename(source, dest, "The type of a resource can't be changed.")
	}
	res := r.from.Resource(source.Resource.InInstance(source.Module))
	if res == nil || len(res.Instances) == 0 {
		return nil, r.from.NotFound(source)
	}
	_, single := res.Instances[addrs.NoKey]
	if !source.HasKey && !dest.HasKey && !single {
		return r.resource(res, dest.Resource.InInstance(dest.Module))
	}
	if !source.HasKey && !single {
		return nil, invalidRename(source, dest, fmt.Sprintf("%s is a whole resource with instances such as %s, which can't "+
			"all be moved to one address. Move one of these instead, or move the resource to the address of a resource.",
			source, res.Addr.Instance(res.SortedKeys()[0])))
	}
	return r.instance(res, source.Key, dest)
}

// keysIn returns the keys that instances of a module call have in a state. The last step of the address has no key.
func keysIn(st *states.State, call addrs.ModuleInstance) map[addrs.InstanceKey]bool {
	out := map[addrs.InstanceKey]bool{}
	caller, last := call.Parent()
	at := len(caller.Steps())
	for res := range st.Resources() {
		if caller.Contains(res.Addr.Module) {
			if steps := res.Addr.Module.Steps(); len(steps) > at && steps[at].Name == last.Name {
				out[steps[at].Key] = true
			}
		}
	}
	return out
}

// several moves each instance of a module that has keys to the instance of dest with the same key.
func (r *renamer) several(source, dest addrs.ModuleInstance) (out []Renamed, err error) {
	caller, call := source.Parent()
	target, called := dest.Parent()
	var found map[addrs.InstanceKey]bool
	if call.Key == addrs.NoKey {
		found = keysIn(r.from, source)
	}
	keys := slices.SortedFunc(maps.Keys(found), addrs.InstanceKey.Compare)
	switch {
	case len(keys) == 0:
		return nil, r.from.NotFound(addrs.Target{Module: source})
	case !r.calls:
		return nil, invalidRename(source, dest, fmt.Sprintf("%s has instances such as %s, which are moved one by one. "+
			"Name one of these.", source, caller.Child(call.Name, keys[0])))
	case called.Key != addrs.NoKey:
		return nil, invalidRename(source, dest, fmt.Sprintf("%s has instances such as %s, which can't all be moved to one "+
			"address. Name one of these, or move them to the address of a module without a key.",
			source, caller.Child(call.Name, keys[0])))
	case len(keysIn(r.to, dest)) > 0:
		return nil, invalidRename(source, dest, "There is already an object at the destination.")
	}
	for _, key := range keys {
		moved, err := r.module(caller.Child(call.Name, key), target.Child(called.Name, key))
		if err != nil {
			return nil, err
		}
		out = append(out, moved...)
	}
	return out, nil
}

// module moves everything in a module instance, including the modules that it calls. See several for a module
// whose instances have keys.
func (r *renamer) module(source, dest addrs.ModuleInstance) ([]Renamed, error) {
	var inside []*states.Resource
	for res := range r.from.Resources() {
		if source.Contains(res.Addr.Module) {
			inside = append(inside, res)
		}
	}
	sourceTarget, destTarget := addrs.Target{Module: source}, addrs.Target{Module: dest}
	if len(inside) == 0 {
		return r.several(source, dest)
	}
	for res := range r.to.Resources() {
		if dest.Contains(res.Addr.Module) {
			return nil, invalidRename(sourceTarget, destTarget, "There is already an object at the destination.")
		}
	}
	for _, res := range inside {
		addr := res.Addr
		addr.Module = dest + addrs.ModuleInstance(strings.TrimPrefix(string(res.Addr.Module), string(source)))
		r.relocate(res, addr)
	}
	return []Renamed{{sourceTarget.String(), destTarget.String()}}, nil
}

func (r *renamer) resource(res *states.Resource, dest addrs.AbsResource) ([]Renamed, error) {
	if other := r.to.Resource(dest); other != nil && len(other.Instances) > 0 {
		return nil, invalidRename(res.Addr, dest, "There is already a resource at the destination.")
	}
	source := res.Addr.String()
	r.relocate(res, dest)
	return []Renamed{{source, dest.String()}}, nil
}

// relocate moves a resource with all of its instances.
func (r *renamer) relocate(res *states.Resource, dest addrs.AbsResource) {
	moved := &states.Resource{Addr: dest, Provider: res.Provider, Instances: res.Instances}
	for key := range res.Instances {
		r.was[dest.Instance(key)] = res.Addr.Instance(key)
	}
	r.from.RemoveResource(res.Addr)
	r.to.AddResource(moved)
}

func (r *renamer) instance(
	res *states.Resource,
	key addrs.InstanceKey,
	dest addrs.Target,
) ([]Renamed, error) {
	source, inst := res.Addr.Instance(key), res.Instances[key]
	target := dest.Resource.InInstance(dest.Module).Instance(dest.Key)
	if inst == nil {
		return nil, r.from.NotFound(source)
	}
	if r.to.Instance(target) != nil {
		return nil, invalidRename(source, target, "There is already a resource instance at the destination.")
	}
	r.from.Forget(source)
	if len(r.from.Resource(res.Addr).Instances) == 0 {
		r.from.RemoveResource(res.Addr)
	}
	r.to.SetInstance(target, inst, res.Provider)
	r.was[target] = source
	return []Renamed{{source.String(), target.String()}}, nil
}

func invalidRename(source, dest fmt.Stringer, why string) error {
	return tfdiags.Errorf("Invalid target address", "Cannot move %s to %s. %s", source, dest, why)
}
