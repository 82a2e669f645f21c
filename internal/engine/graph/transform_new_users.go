package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/states"
)

// newUsers is a group of resources in one module instance. Their configurations add the same
// dependencies, which the state does not record yet. The late deletion of an object also waits for
// the new users of its resource. If one of them fails, the old object therefore still exists.
type newUsers struct {
	all  []*depNode
	node *reads.Node // Barrier that waits until all resources of the group are settled; nil until first used
}

// newUsersKey identifies a group of new users that replace one set of dependencies with another.
type newUsersKey struct {
	wanted, stored *states.Dependencies
	module         addrs.ModuleInstance
}

// findNewUsers records the new users of each resource. Users that replace the same stored set of
// dependencies with the same new set are grouped. This way, n users of m resources cost n+m, not
// n·m.
func (d *destroyOrder) findNewUsers() {
	found := map[newUsersKey]*newUsers{}
	for _, x := range d.all {
		if x.hub || !x.exists || x.resource.Config == nil || x.resource.Recorded.Dependencies == nil || !x.writes() {
			continue
		}
		sets, guess := d.storedDeps(x)
		if guess != nil {
			sets = append(sets, guess)
		}
		key := newUsersKey{x.resource.Recorded.Dependencies, nil, x.addr.Module}
		if len(sets) > 0 {
			key.stored = sets[0]
		}
		if s := found[key]; s != nil && len(sets) < 2 {
			s.all = append(s.all, x)
			continue
		}
		s := &newUsers{all: []*depNode{x}}
		if len(sets) < 2 {
			found[key] = s
		}
		for dep := range x.resource.Recorded.Dependencies.All() {
			if dep != x.resource.Addr && !stored(sets, dep) {
				d.addNewUsers(s, dep)
			}
		}
	}
}

// stored reports whether one of the sets contains dep.
func stored(sets []*states.Dependencies, dep addrs.ConfigResource) bool {
	return slices.ContainsFunc(sets, func(set *states.Dependencies) bool { return set.Has(dep) })
}

// addNewUsers records the group s as new users of dep. If dep is in the group's module, they are
// new users only of dep in the same module instance. Otherwise they are new users of dep in all
// instances of its module.
func (d *destroyOrder) addNewUsers(s *newUsers, dep addrs.ConfigResource) {
	user := s.all[0]
	if dep.Module != user.resource.Addr.Module {
		d.newUsers[dep] = append(d.newUsers[dep], s)
	} else if q := d.at[dep.Resource.InInstance(user.addr.Module)]; q != nil {
		q.newUsers = append(q.newUsers, s)
	}
}

// newUsersGate returns the gate that waits for the new users of x, or nil if x has no new users.
func (c *connecting) newUsersGate() *reads.Node {
	of := c.at[c.x.addr].newUsers
	if elsewhere := c.newUsers[c.x.resource.Addr]; len(elsewhere) > 0 {
		of = append(slices.Clip(of), elsewhere...)
	}
	if len(of) == 0 {
		return nil
	}
	if c.open[newUsersSettled] == nil {
		gate := c.b.node(reads.KindBarrier, nil, c.x.name()+" (waits until new users settled)", nil)
		for _, s := range of {
			if s.node == nil {
				s.node = c.b.node(reads.KindBarrier, nil, s.all[0].name()+" (settled)", nil)
				c.b.after(s.node, c.family(familySettled, s.all)...)
			}
			c.b.after(gate, s.node)
		}
		c.open[newUsersSettled] = gate
		c.gates[newUsersSettled] = append(c.gates[newUsersSettled], gate)
	}
	return c.open[newUsersSettled]
}
