package states

import "tofu/internal/addrs"

// WithIndirect returns, for sets of dependencies of objects in the state, the same sets with the
// indirect dependencies: those of the resources in the set, and so on. Programs that order
// destructions only by what an object lists need them. Sets without indirect dependencies are left
// out. A chain of n resources has n²/2 indirect dependencies, so a set gets the nearest ones up to a
// number that depends on the size of the state.
func (s *State) WithIndirect() map[*Dependencies]*Dependencies {
	all, objects := dependenciesOf(s), 0
	for r := range s.Resources() {
		objects += len(r.Instances)
	}
	if objects == 0 {
		return nil
	}
	limit := maxIndirect/objects + minIndirect
	out, known := map[*Dependencies]*Dependencies{}, map[*Dependencies]bool{nil: true}
	for r := range s.Resources() {
		var last *Dependencies
		for _, inst := range r.Instances {
			for o := range inst.Objects() {
				set := o.Dependencies
				if set == last {
					continue
				}
				last = set
				if !known[set] {
					known[set] = true
					if more := set.indirect(all, limit); len(more) > 0 {
						out[set] = NewDependencies(append(more, set.list...))
					}
				}
				if out[set].Has(r.Addr.Config()) { // on a cycle, which must not become larger
					delete(out, set)
				}
			}
		}
	}
	return out
}

// Limits of the indirect dependencies in a state with n objects: maxIndirect + n × minIndirect.
const (
	maxIndirect = 1 << 15
	minIndirect = 4
)

// indirect returns up to limit indirect dependencies that are not in the set, the nearest first. all
// holds the dependencies of each resource. The search ends early if most of what it finds is known.
func (d *Dependencies) indirect(all map[addrs.ConfigResource]*Dependencies, limit int) []addrs.ConfigResource {
	found := make(map[addrs.ConfigResource]bool, d.Len())
	for _, dep := range d.list {
		found[dep] = true
	}
	var out []addrs.ConfigResource
	steps := d.Len() + 16*limit
	visit := func(of addrs.ConfigResource) bool {
		for dep := range all[of].All() {
			if steps--; steps < 0 || len(out) == limit {
				return false
			}
			if !found[dep] {
				found[dep] = true
				out = append(out, dep)
			}
		}
		return true
	}
	for _, dep := range d.list {
		if !visit(dep) {
			return out
		}
	}
	for i := 0; i < len(out) && visit(out[i]); i++ {
	}
	return out
}
