package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// starters are resources, of one module instance, that begin to refer to the same others in this run: what is stored with their objects
// doesn't speak of those yet. An object that is replaced by creating first goes only when they have changed as well, so that there is
// something to go back to when one of them fails.
type newUsers struct {
	all  []*depNode
	node *Node // passed when they are settled
}

type newUsersKey struct {
	wanted, stored *addrs.ConfigResource
	module         addrs.ModuleInstance
}

// findStarters lists them for each resource from which something is deleted late. Those that start with one list of dependencies in
// place of another are found together, so that many that begin to refer to the same many cost their sum.
func (d *destroyOrder) findNewUsers() {
	found := map[newUsersKey]*newUsers{}
	for _, x := range d.all {
		if x.hub || !x.exists || x.resource.Config == nil || len(x.resource.Deps) == 0 || !x.writes() {
			continue
		}
		lists, guess := d.storedDeps(x)
		if len(guess) > 0 {
			lists = append(lists, guess)
		}
		key := newUsersKey{&x.resource.Deps[0], nil, x.addr.Module}
		if len(lists) > 0 {
			key.stored = &lists[0][0]
		}
		if s := found[key]; s != nil && len(lists) < 2 {
			s.all = append(s.all, x)
			continue
		}
		s := &newUsers{all: []*depNode{x}}
		if len(lists) < 2 {
			found[key] = s
		}
		for _, dep := range x.resource.Deps {
			if dep != x.resource.Addr && !listed(lists, dep) {
				d.addNewUsers(s, dep)
			}
		}
	}
}

func listed(lists [][]addrs.ConfigResource, dep addrs.ConfigResource) bool {
	return slices.ContainsFunc(lists, func(list []addrs.ConfigResource) bool {
		_, ok := slices.BinarySearchFunc(list, dep, states.CompareDependencies)
		return ok
	})
}

// start notes the starters with what they begin to refer to: within one module the same module instance, elsewhere all instances.
func (d *destroyOrder) addNewUsers(s *newUsers, dep addrs.ConfigResource) {
	user := s.all[0]
	if dep.Module != user.resource.Addr.Module {
		d.newUsers[dep] = append(d.newUsers[dep], s)
	} else if q := d.at[dep.Resource.InInstance(user.addr.Module)]; q != nil {
		q.newUsers = append(q.newUsers, s)
	}
}

// startersGate gives a Barrier for what begins to refer to x, nil when nothing does.
func (c *connecting) newUsersGate() *Node {
	of := c.x.newUsers
	if elsewhere := c.newUsers[c.x.resource.Addr]; len(elsewhere) > 0 {
		of = append(slices.Clip(of), elsewhere...)
	}
	if len(of) == 0 {
		return nil
	}
	if c.open[newUsersSettled] == nil {
		gate := c.b.node(KindBarrier, nil, c.x.name+" (waits until new users settled)", nil)
		for _, s := range of {
			if s.node == nil {
				s.node = c.b.node(KindBarrier, nil, s.all[0].name+" (settled)", nil)
				c.b.after(s.node, c.family(familySettled, s.all)...)
			}
			c.b.after(gate, s.node)
		}
		c.open[newUsersSettled] = gate
		c.gates[newUsersSettled] = append(c.gates[newUsersSettled], gate)
	}
	return c.open[newUsersSettled]
}
