package engine

import (
	"slices"

	"tofu/internal/addrs"
)

// need says how much of a resource others need that are kept.
type need uint8

const (
	needsNothing need = iota
	needsWithin       // all instances in those instances of the module in which something is targeted
	needsWhole        // all instances
)

// keepWhole gives what something kept depends on all of its instances, targeted or not. What is needed within an instance of a module,
// or of the modules that it calls, keeps to the instances that targets name.
func (t *targeting) keepWhole(keep []bool) {
	order, ok := t.graph.Order()
	if !ok {
		return // the cycle is reported at the end
	}
	within := t.targetedInstances()
	users := t.graph.Dependents()
	needs := make([]need, len(t.nodes))
	for _, id := range slices.Backward(order) { // dependents first
		n := t.nodes[id]
		for _, user := range users[id] {
			if keep[user] {
				needs[id] = max(needs[id], t.nodes[user].needOf(n, needs[user]))
			}
		}
		if r := n.resource; r != nil && needs[id] == needsWhole {
			r.selected = nil
		} else if r != nil && needs[id] == needsWithin && r.selected != nil {
			r.selected = within.of(r.module)
		}
	}
}

// needOf says how much a node that is kept needs of one that it waits for, given how much others need of itself.
func (n *Node) needOf(other *Node, asked need) need {
	if n.resource != nil && n.resource != other.resource {
		asked = needsWithin
		if n.resource.selected == nil {
			asked = needsWhole
		}
	}
	if asked == needsWithin && !oneInOther(n.module, other.module) {
		asked = needsWhole
	}
	return asked
}

// oneInOther tells whether one of two modules is the other or lies in it: then so do their instances, and what these need of each other.
func oneInOther(a, b *module) bool {
	if a == nil || b == nil || a.path.IsRoot() || b.path.IsRoot() {
		return a == b
	}
	return a.path.Contains(b.path) || b.path.Contains(a.path)
}

// targetedInstances are the module instances in which something is targeted, by module.
type targetedInstances struct {
	own    map[*module]map[addrs.ModuleInstance]bool // something of the module itself is targeted there
	around map[*module]map[addrs.ModuleInstance]bool // something is targeted in a module that is called there
	chosen map[*module]*selection
}

func (t *targeting) targetedInstances() *targetedInstances {
	out := &targetedInstances{
		own: map[*module]map[addrs.ModuleInstance]bool{}, around: map[*module]map[addrs.ModuleInstance]bool{}, chosen: map[*module]*selection{},
	}
	for r, hits := range t.hits {
		for _, hit := range hits {
			if hit.Module == addrs.RootInstance || !addInstance(out.own, r.module, hit.Module) {
				continue
			}
			at := hit.Module
			for m := r.module.parent; m != nil && !m.path.IsRoot(); m = m.parent {
				for len(at.Steps()) > len(m.path.Names()) {
					at, _ = at.Parent()
				}
				addInstance(out.around, m, at)
			}
		}
	}
	return out
}

// addInstance notes a module instance and tells whether it is new.
func addInstance(to map[*module]map[addrs.ModuleInstance]bool, m *module, at addrs.ModuleInstance) bool {
	if to[m] == nil {
		to[m] = map[addrs.ModuleInstance]bool{}
	}
	known := to[m][at]
	to[m][at] = true
	return !known
}

// of selects everything in the targeted instances of a module; nil, which is all, of the root module.
func (t *targetedInstances) of(m *module) *selection {
	if m.path.IsRoot() {
		return nil
	}
	if s := t.chosen[m]; s != nil {
		return s
	}
	var targets []addrs.Target
	add := func(instances map[addrs.ModuleInstance]bool) {
		for at := range instances {
			targets = append(targets, addrs.Target{Module: at})
		}
	}
	add(t.around[m])
	for outer := m; outer != nil; outer = outer.parent {
		add(t.own[outer])
	}
	t.chosen[m] = newSelection(targets, true)
	return t.chosen[m]
}

// neededUsers tells what depends on some resources by what is stored, directly or not, and how much of it goes with them.
func (t *targeting) neededUsers(of []*resource) map[*resource]need {
	users := t.usersByStored()
	out := map[*resource]need{}
	todo := slices.Clone(of)
	for len(todo) > 0 {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, user := range users[r.addr] {
			goes := max(needsWithin, out[r])
			if !oneInOther(user.module, r.module) {
				goes = needsWhole
			}
			if user != r && goes > out[user] {
				out[user] = goes
				todo = append(todo, user)
			}
		}
	}
	return out
}
