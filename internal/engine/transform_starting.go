package engine

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// starters are resources, of one module instance, that begin to refer to the same others in this run: what is stored with their objects
// doesn't speak of those yet. An object that is replaced by creating first goes only when they have changed as well, so that there is
// something to go back to when one of them fails.
type starters struct {
	all  []*related
	node *Node // passed when they are settled
}

type startersKey struct {
	wanted, stored *addrs.ConfigResource
	module         addrs.ModuleInstance
}

// findStarters lists them for each resource from which something is deleted late. Those that start with one list of dependencies in
// place of another are found together, so that many that begin to refer to the same many cost their sum.
func (d *destroyOrder) findStarters() {
	found := map[startersKey]*starters{}
	for _, x := range d.all {
		if x.hub || !x.old || x.resource.cfg == nil || len(x.resource.deps) == 0 || !x.makes() {
			continue
		}
		lists, guess := d.stored(x)
		if len(guess) > 0 {
			lists = append(lists, guess)
		}
		key := startersKey{&x.resource.deps[0], nil, x.addr.Module}
		if len(lists) > 0 {
			key.stored = &lists[0][0]
		}
		if s := found[key]; s != nil && len(lists) < 2 {
			s.all = append(s.all, x)
			continue
		}
		s := &starters{all: []*related{x}}
		if len(lists) < 2 {
			found[key] = s
		}
		for _, dep := range x.resource.deps {
			if dep != x.resource.addr && !listed(lists, dep) {
				d.start(s, dep)
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
func (d *destroyOrder) start(s *starters, dep addrs.ConfigResource) {
	user := s.all[0]
	if dep.Module != user.resource.addr.Module {
		d.starting[dep] = append(d.starting[dep], s)
	} else if q := d.at[dep.Resource.InInstance(user.addr.Module)]; q != nil {
		q.starting = append(q.starting, s)
	}
}

// startersGate gives a Barrier for what begins to refer to x, nil when nothing does.
func (c *connecting) startersGate() *Node {
	of := c.x.starting
	if elsewhere := c.starting[c.x.resource.addr]; len(elsewhere) > 0 {
		of = append(slices.Clip(of), elsewhere...)
	}
	if len(of) == 0 {
		return nil
	}
	if c.open[startersSettled] == nil {
		gate := c.b.node(KindBarrier, nil, c.x.name+" (waits until new users settled)", nil)
		for _, s := range of {
			if s.node == nil {
				s.node = c.b.node(KindBarrier, nil, s.all[0].name+" (settled)", nil)
				c.b.after(s.node, c.family(familySettled, s.all)...)
			}
			c.b.after(gate, s.node)
		}
		c.open[startersSettled] = gate
		c.gates[startersSettled] = append(c.gates[startersSettled], gate)
	}
	return c.open[startersSettled]
}
