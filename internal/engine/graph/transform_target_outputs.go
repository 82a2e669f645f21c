package graph

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
)

// keepOutputs keeps the root outputs that depend on at least one resource and are complete. An output
// that also reads what does not take part would change only in part.
func (t *targeting) keepOutputs(keep []bool, reads *outputReads) {
	order, ok := t.g.Edges.Order()
	if !ok {
		return // the cycle is reported at the end
	}
	some, all := make([]bool, len(t.g.Nodes)), make([]bool, len(t.g.Nodes))
	for _, id := range order {
		n := t.g.Nodes[id]
		all[id] = true
		if n.Kind.IsResource() {
			some[id], all[id] = true, keep[id]
		}
		for _, need := range t.g.Edges.Needs(id) {
			some[id] = some[id] || some[need]
			all[id] = all[id] && all[need]
		}
	}
	var roots []dag.ID
	for _, name := range slices.Sorted(maps.Keys(t.g.Root.Outputs)) {
		v := t.g.Root.Outputs[name]
		if some[v.Node.ID] && all[v.Node.ID] && reads.complete(place{n: v.Node}) {
			roots = append(roots, v.Node.ID)
		}
	}
	for id, reached := range t.g.Edges.Reach(roots...) {
		keep[id] = keep[id] || reached
	}
}

// outputReads finds out whether values read only objects that take part or exist already.
type outputReads struct {
	*targeting
	lost  map[place]bool // instances that an exclusion leaves out because they depend on something excluded
	known map[place]bool
}

// complete reports whether everything that is read in a place takes part or exists. For a resource or
// module with several instances, it is sufficient that some do, unless one is lost.
func (o *outputReads) complete(p place) bool {
	if known, ok := o.known[p]; ok {
		return known
	}
	o.known[p] = true // ends the recursion
	if p.n.Resource != nil {
		o.known[p] = o.exists(p)
		return o.known[p]
	}
	reads := o.reads.of(p)
	for _, read := range reads {
		if (read.of.n != p.n || len(reads) == 1) && !o.complete(read.of) {
			o.known[p] = false
		}
	}
	return o.known[p]
}

// exists reports whether no instance of a resource in a place is lost, and one of them takes part or
// exists, or none is declared.
func (o *outputReads) exists(p place) bool {
	r := p.n.Resource
	if p.part == onePart {
		return !o.lost[p] && o.existsAt(p)
	}
	some, declared := false, false
	for _, in := range o.reads.within(r.Module, p.in) {
		for _, key := range o.reads.keys(r, in) {
			x := instancePlace(r, in, key)
			if o.lost[x] {
				return false
			}
			declared, some = true, some || o.existsAt(x)
		}
	}
	return some || !declared
}

// existsAt reports whether an instance takes part or exists. If its key is not known, it may exist.
func (o *outputReads) existsAt(p place) bool {
	addr := p.instance()
	return p.n.Resource.Selected.Has(addr) || o.op.Prior.Instance(addr) != nil || p.key == addrs.UnknownKey ||
		hasUnknownStep(p.in)
}

// participants knows which values and blocks are needed by something that takes part in a partial
// run.
type participants struct {
	reads *placeReads
	found map[place]bool
	not   bool // found holds the places that don't take part, instead of those that do
}

// LeavesOut reports whether nothing that takes part in a partial run needs what a node stands for in
// one instance of its module. What the node reads there may be left out, too.
func (g *Graph) LeavesOut(n *Node, in addrs.ModuleInstance) bool {
	p := g.participants
	switch {
	case p == nil:
		return false
	case n.Kind == KindPart:
		n = n.Object.(*Node)
	}
	if m := p.reads.instances[n.Module]; m != nil && !m.has[in] {
		return false // its instances were not known
	}
	found := p.found[place{n: n, in: in}] || p.found[place{n: n, in: in, part: baseParts}]
	return found == p.not
}
