package engine

import (
	"math"
	"slices"

	"tofu/internal/addrs"
)

// need is how deep the module is within whose targeted instances a resource is needed: all its instances in those are. At depth 0, the
// root module, these are all that the resource has.
type need int

const (
	needsWhole   need = 0
	needsNothing need = math.MaxInt
)

// keepWhole selects the instances that something kept depends on, targeted or not. Two resources that lie in one module, or in modules
// that it calls, depend on each other within an instance of it: only the instances in which something is targeted are selected then.
func (t *targeting) keepWhole(keep []bool) {
	order, ok := t.g.edges.Order()
	if !ok {
		return // the cycle is reported at the end
	}
	within := t.targetedInstances()
	users := t.g.edges.Dependents()
	needs := make([]need, len(t.g.nodes))
	for _, id := range slices.Backward(order) { // dependents first
		n := t.g.nodes[id]
		needs[id] = needsNothing
		for _, user := range users[id] {
			if keep[user] {
				needs[id] = min(needs[id], t.g.nodes[user].needOf(n, needs[user]))
			}
		}
		if n.Resource != nil && needs[id] != needsNothing {
			n.Resource.selected = within.of(n.Resource.module, needs[id])
		}
	}
}

// needOf returns what a node that is kept needs of one that it waits for, given what is needed of the node itself.
func (n *Node) needOf(other *Node, asked need) need {
	if n.Resource != nil && n.Resource == other.Resource {
		return asked
	}
	return min(asked, sharedDepth(n.Module, other.Module))
}

// sharedDepth returns the depth of the innermost module that both modules are or lie in.
func sharedDepth(a, b *module) need {
	if a == nil || b == nil {
		return needsWhole
	}
	return need(sharedNames(a.path.Names(), b.path.Names()))
}

// sharedNames returns how many names two paths begin with alike.
func sharedNames(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// targetedInstances holds the module instances that are targeted or in which something is, by module. Those of an outer module stand
// for all instances in them.
type targetedInstances struct {
	in     map[*module]map[addrs.ModuleInstance]bool
	chosen map[*module]*selection // all with of, or all with but
}

func (t *targeting) targetedInstances() *targetedInstances {
	out := &targetedInstances{in: map[*module]map[addrs.ModuleInstance]bool{}, chosen: map[*module]*selection{}}
	for r, hits := range t.hits {
		for _, hit := range hits {
			out.add(r.module, hit.Module)
		}
	}
	return out
}

// add notes an instance of a module, or of one around it, and the instances that it lies in.
func (t *targetedInstances) add(m *module, at addrs.ModuleInstance) {
	for ; m != nil && !m.path.IsRoot(); m = m.parent {
		if len(at.Steps()) > len(m.path.Names()) {
			at, _ = at.Parent()
		}
		if t.in[m][at] {
			return
		}
		if t.in[m] == nil {
			t.in[m] = map[addrs.ModuleInstance]bool{}
		}
		t.in[m][at] = true
	}
}

// of selects everything that a module has in the targeted instances of the one around it at some depth: nil, which is all, for the root.
func (t *targetedInstances) of(m *module, depth need) *selection { return t.choose(m, depth, true) }

// but selects everything that a module has outside those instances.
func (t *targetedInstances) but(m *module, depth need) *selection { return t.choose(m, depth, false) }

func (t *targetedInstances) choose(m *module, depth need, only bool) *selection {
	for need(len(m.path.Names())) > depth {
		m = m.parent
	}
	if m.path.IsRoot() {
		return nil
	}
	if s := t.chosen[m]; s != nil {
		return s
	}
	var targets []addrs.Target
	for at := range t.in[m] {
		targets = append(targets, addrs.Target{Module: at})
	}
	t.chosen[m] = newSelection(targets, only)
	return t.chosen[m]
}

// neededUsers returns what depends on some resources by what is stored, directly or not, and how much of it goes with them.
func (t *targeting) neededUsers(of []*resource) map[*resource]need {
	users := t.usersByStored()
	out := map[*resource]need{}
	todo := slices.Clone(of)
	for len(todo) > 0 {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		asked, found := out[r]
		if !found {
			asked = needsNothing
		}
		for _, user := range users[r.addr] {
			goes := min(asked, sharedDepth(user.module, r.module))
			if known, found := out[user]; user != r && (!found || goes < known) {
				out[user] = goes
				todo = append(todo, user)
			}
		}
	}
	return out
}
