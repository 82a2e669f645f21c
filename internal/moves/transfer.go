package moves

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// A Pair is a move from an address in one state to an address in another one.
type Pair struct{ From, To addrs.Target }

// Transfer moves objects from one state to another, each pair like Rename, and returns the former address of
// each object by its new one. The dependencies of these objects are renamed; those on objects that stay are
// dropped. After an error, the states are incomplete.
func Transfer(from, to *states.State, pairs []Pair) (map[addrs.AbsInstance]addrs.AbsInstance, error) {
	r := &renamer{from: from, to: to, calls: true, was: make(map[addrs.AbsInstance]addrs.AbsInstance)}
	before := from.Clone()
	for _, p := range pairs {
		if _, err := r.rename(p.From, p.To); err != nil {
			return nil, err
		}
	}
	from.RepairDependencies(states.DependencyRepair{Before: before})
	r.settle()
	return r.was, nil
}

// settle completes the objects that have come from another state: it renames their dependencies, and removes
// module paths from their provider configurations, which the other modules don't have.
func (r *renamer) settle() {
	resources := make(map[addrs.ConfigResource][]addrs.ConfigResource)
	instances := make(map[addrs.AbsInstance]addrs.AbsInstance, len(r.was))
	for now, was := range r.was {
		instances[was] = now
		if list := resources[was.Config()]; !slices.Contains(list, now.Config()) {
			resources[was.Config()] = append(list, now.Config())
		}
	}
	sets := make(map[*states.Dependencies]*states.Dependencies)
	rename := func(old *states.Dependencies) *states.Dependencies {
		renamed, done := sets[old]
		if !done {
			var list []addrs.ConfigResource
			for dep := range old.All() {
				list = append(list, resources[dep]...)
			}
			renamed = states.NewDependencies(list)
			sets[old] = renamed
		}
		return renamed
	}
	move := func(of addrs.ConfigResource, obj *states.Object) *states.Object {
		if obj == nil {
			return nil
		}
		out := *obj
		out.Dependencies, out.DependencyInstances = rename(obj.Dependencies).WithoutOwn(of), nil
		for _, dep := range obj.DependencyInstances {
			if now, moved := instances[dep]; moved {
				out.DependencyInstances = append(out.DependencyInstances, now)
			}
		}
		return &out
	}
	for now := range r.was {
		res := r.to.Resource(now.Abs())
		inst := *res.Instances[now.Key]
		inst.Current, inst.Deposed = move(now.Config(), inst.Current), maps.Clone(inst.Deposed)
		for key, obj := range inst.Deposed {
			inst.Deposed[key] = move(now.Config(), obj)
		}
		provider := res.Provider
		if !provider.Module.IsRoot() {
			provider = addrs.AbsProviderConfig{Provider: provider.Provider}
		}
		r.to.SetInstance(now, &inst, provider)
	}
}
