package graph

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
)

// keepOutputs keeps the root outputs that depend on at least one resource and read only what takes
// part or exists already. An output that also reads anything else would be up to date only in part
// after the run.
func (t *targeting) keepOutputs(keep []bool, of *outputReads) {
	order, ok := t.b.g.Edges.Order()
	if !ok {
		return // the cycle is reported at the end
	}
	some, all := make([]bool, len(t.b.g.Nodes)), make([]bool, len(t.b.g.Nodes))
	for _, id := range order {
		n := t.b.g.Nodes[id]
		all[id] = true
		if n.Kind.IsResource() {
			some[id], all[id] = true, keep[id]
		}
		for _, need := range t.b.g.Edges.Needs(id) {
			some[id] = some[id] || some[need]
			all[id] = all[id] && all[need]
		}
	}
	var roots []dag.ID
	for _, name := range slices.Sorted(maps.Keys(t.b.g.Root.Outputs)) {
		v := t.b.g.Root.Outputs[name]
		if some[v.Node.ID] && all[v.Node.ID] && of.complete(reads.Place{Node: v.Node}) {
			roots = append(roots, v.Node.ID)
		}
	}
	for id, reached := range t.b.g.Edges.Reach(roots...) {
		keep[id] = keep[id] || reached
	}
}

// outputReads finds out whether outputs read only objects that take part or exist already.
type outputReads struct {
	*targeting
	known map[reads.Place]bool
	// whole is true if every declared instance must take part, even if it exists. Otherwise, it is
	// sufficient for a resource or module with several instances that some of them take part or exist.
	whole bool
}

// complete reports whether everything that is read in a place takes part or exists. If a resource
// with several instances is read, one instance that takes part or exists is sufficient. If a value
// stands for its places in several module instances, these places are not examined. If o.whole is
// set, all instances and places must be complete instead.
func (o *outputReads) complete(p reads.Place) bool {
	if known, ok := o.known[p]; ok {
		return known
	}
	o.known[p] = true // ends the recursion
	if p.Node.Resource != nil {
		o.known[p] = o.exists(p)
		return o.known[p]
	}
	reads := o.reads.Reads(p)
	for _, read := range reads {
		if (read.Of.Node != p.Node || len(reads) == 1 || o.whole) && !o.complete(read.Of) {
			o.known[p] = false
		}
	}
	return o.known[p]
}

// exists reports whether at least one instance of a resource in a place takes part or exists. It
// also returns true if the place has no instances. If whole is set, it returns false if any
// declared instance doesn't take part.
func (o *outputReads) exists(p reads.Place) bool {
	r := p.Node.Resource
	some, declared := false, false
	for _, in := range o.reads.Within(r.Module, p.In) {
		keys := o.reads.Keys(r, in)
		if p.Part == reads.OnePart {
			keys = []addrs.InstanceKey{p.Key}
		}
		for _, key := range keys {
			one := reads.InstancePlace(r, in, key)
			addr := one.Instance()
			takesPart := r.Selected.Has(addr)
			if o.whole && !takesPart && o.reads.Declares(r, in, key) {
				return false
			}
			declared = true
			some = some || takesPart || o.b.op.Prior.Instance(addr) != nil || one.Several()
		}
	}
	return some || !declared
}

// participants knows which values and blocks are needed by something that takes part in a partial
// run.
type participants struct {
	reads *reads.Places
	found map[reads.Place]bool
	not   bool // found holds the places that don't take part, instead of those that do
}

// LeavesOut reports whether nothing that takes part in a partial run needs a node in one instance
// of its module. Objects that the node reads there may be left out, too.
func (g *Graph) LeavesOut(n *reads.Node, in addrs.ModuleInstance) bool {
	p := g.participants
	if p == nil {
		return false
	}
	if !p.reads.Known(n.Module, in) {
		return false // the module's instances were not known before the walk
	}
	found := p.found[reads.Place{Node: n, In: in}] || p.found[reads.Place{Node: n, In: in, Part: reads.BaseParts}]
	return found == p.not
}
