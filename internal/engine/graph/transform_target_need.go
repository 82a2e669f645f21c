package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
)

// places is a set of module instances in which a search along edges has reached a node. Each of
// them is an instance of the node's module or of a module that contains it. everywhere stands for
// all instances.
type places map[addrs.ModuleInstance]bool

const everywhere addrs.ModuleInstance = ""

// spread follows edges from resources in some module instances, and returns the places at which it
// reaches each node, by node ID. An edge between two nodes connects them within one instance of the
// innermost module that contains both. Each place of a node is visited once, so the cost is linear
// in the number of references between instances.
//
// The search goes on from the instances that s reaches. If readers is not nil, the search goes
// against the direction of references: where a block or value reads outputs of single module
// instances, it reaches only the instances that read the output in question.
func (t *targeting) spread(
	from []startAt, s *instanceSearch, next func(dag.ID) []dag.ID, readers *callReaders,
) []places {
	type visit struct {
		node *Node
		at   addrs.ModuleInstance
		by   *Resource // the last resource on the way
	}
	t.neededBy = map[*Resource]*Resource{}
	out := make([]places, len(t.g.Nodes))
	var todo []visit
	enter := func(last *Node, by *Resource, n *Node, at addrs.ModuleInstance) {
		if out[n.ID][at] || out[n.ID][everywhere] {
			return
		}
		if out[n.ID] == nil {
			out[n.ID] = places{}
		}
		out[n.ID][at] = true
		if last.Resource != nil {
			by = last.Resource
		}
		if r := n.Resource; r != nil && t.neededBy[r] == nil && r != by {
			t.neededBy[r] = by
		}
		todo = append(todo, visit{n, at, by})
	}
	lead := func(v visit, from *origin) {
		ids := next(v.node.ID)
		if v.node.Split { // the dependents of a node don't include its Parts
			ids = slices.Clip(ids)
			for _, part := range t.g.partsOf(v.node) {
				ids = append(ids, part.ID)
			}
		}
		for _, id := range ids {
			other, at := t.g.Nodes[id], v.at
			if from != nil && from.skips(other) {
				continue
			}
			if found, known := readers.of(v.node, v.at, other); known {
				s.found(found.instances)
				for _, in := range found.places {
					enter(v.node, v.by, other, in)
				}
				continue
			}
			own := other.Resource != nil && other.Resource == v.node.Resource
			switch {
			case other.Kind == KindPart && v.node.Kind == KindPart:
				at = other.In
			case other.Kind == KindPart:
				if !at.Contains(other.In) && !other.In.Contains(at) {
					continue
				}
			case !own:
				at = outermost(at, sharedDepth(v.node.Module, other.Module))
			case from != nil:
				continue
			}
			enter(v.node, v.by, other, at)
		}
	}
	for {
		for _, start := range from {
			lead(visit{start.r.Node, start.at, start.r}, &start.origin)
			for _, output := range start.outputs {
				lead(visit{output.v.Node, output.in, start.r}, nil)
			}
		}
		for len(todo) > 0 {
			v := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			lead(v, nil)
		}
		if len(s.todo) == 0 {
			break
		}
		from = s.run()
	}
	for n := range t.g.splitCalls {
		for _, part := range t.g.partsOf(n) {
			for at := range out[part.ID] {
				if out[n.ID] == nil {
					out[n.ID] = places{}
				}
				out[n.ID][at] = true
			}
		}
	}
	return out
}

// selectAt returns a Selection of the instances of r that the targets name, the instances that the
// search by instance has reached, and the instances at the given places.
func (t *targeting) selectAt(r *Resource, at places) *Selection {
	if at[everywhere] {
		return nil
	}
	return Select(t.targetsAt(r, at))
}

// targetsAt returns the targets that name instances of r, the instances that the search by instance
// has reached, and the module instances at the given places.
func (t *targeting) targetsAt(r *Resource, at places) []addrs.Target {
	list := slices.Concat(t.matches[r], t.reached[r])
	for m := range at {
		list = append(list, addrs.Target{Module: m})
	}
	return list
}

// outermost returns the module instance at the given depth that contains at. It returns at itself
// if at is not deeper.
func outermost(at addrs.ModuleInstance, depth int) addrs.ModuleInstance {
	for n := len(at.Steps()); n > depth; n-- {
		at, _ = at.Parent()
	}
	return at
}

// sharedDepth returns the depth of the innermost module that contains both modules. It is 0 for the
// root module.
func sharedDepth(a, b *Module) int {
	if a == nil || b == nil {
		return 0
	}
	return sharedNames(a.Path.Names(), b.Path.Names())
}

// sharedNames returns the length of the common prefix of two paths.
func sharedNames(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// storedUsers returns a function that, for the node of a resource, returns the nodes of the
// resources that depend on it according to the stored dependencies.
func (t *targeting) storedUsers() func(dag.ID) []dag.ID {
	users := t.usersByStored()
	return func(id dag.ID) (out []dag.ID) {
		for _, user := range users[t.g.Nodes[id].Resource.Addr] {
			out = append(out, user.Node.ID)
		}
		return out
	}
}
