package engine

import (
	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// What a Step waits for
//
// An instance that fails keeps those from going on that need it, and nobody else. By its text alone a reference says which ones these
// are in two cases:
//
//   - Blocks of one module refer to one another within an instance of the module: module.m[0].b needs module.m[0].a, and goes on
//     when module.m[1].a fails. Values (variables, locals, outputs) are evaluated for all instances of their module at once, so this
//     holds for direct references and depends_on only.
//   - A constant key, a[0] or a["x"], names one instance: what refers to it goes on when a[1] fails. This holds for values too.
//
// Everything else waits for a resource as a whole. So does a constant key of which nothing is done.
//
// The waits are made for blocks and places, not for pairs of instances: the Steps of a resource in one instance of its module wait for
// one Barrier, and that waits for the places of what the block refers to.

var instancesTransformer = &Transformer{
	Name:  "Instances",
	Doc:   "makes Steps wait for the instances that they need, and Resources for their Steps",
	After: []*Transformer{changesTransformer, referenceTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		for _, r := range b.g.resources {
			if len(b.steps[r]) > 0 {
				b.connectSteps(r)
			}
		}
		return nil
	},
}

// noteSteps notes that there are Steps in an instance of the module.
func (m *module) noteSteps(in addrs.ModuleInstance) {
	m.stepsVary = m.stepsVary || m.hasSteps && m.stepsIn != in
	m.stepsIn, m.hasSteps = in, true
}

// placement is what is done of a resource in one instance of its module.
type placement struct {
	steps []*step
	open  *Node // what the steps wait for
	node  *Node // settles the resource there; nil while nobody asks for it
}

// separate gives a resource whose Steps lie in several instances of its module a node that decides its instances without waiting
// for all that the block refers to.
func (b *build) separate(r *resource) {
	independent := r.addr.Resource.Mode != addrs.Ephemeral && r.cfg.Check == nil
	if !independent || !r.module.stepsVary || len(b.steps[r]) == 0 {
		return
	}
	r.expand = b.node(KindExpand, r.module, r.open.Name, r.open.Range)
	r.expand.Resource = r
	r.open.Kind, r.open.Name = KindBarrier, r.addr.String()+" (needs)"
	r.places = map[addrs.ModuleInstance]*placement{}
	for _, s := range b.steps[r] {
		if s.part == stepApply {
			p := r.place(s.change.Addr.Module)
			p.steps = append(p.steps, s)
		}
	}
}

func (r *resource) place(in addrs.ModuleInstance) *placement {
	if r.places[in] == nil {
		r.places[in] = &placement{}
	}
	return r.places[in]
}

// connectSteps has the Steps that make something wait for what they need, and the resource for them.
func (b *build) connectSteps(r *resource) {
	local, others := b.localNeeds(r)
	for _, s := range b.steps[r] {
		if s.part != stepApply {
			continue
		}
		b.after(r.node, s.node)
		if local == nil {
			b.after(s.node, r.open)
			continue
		}
		in := s.change.Addr.Module
		p := r.place(in)
		if p.open == nil {
			p.open = b.node(KindBarrier, nil, r.addr.Resource.InInstance(in).String()+" (needs)", nil)
			p.open.Resource = r
			b.after(p.open, others)
			for _, n := range local {
				b.after(p.open, b.within(n, in)...)
			}
		}
		b.after(s.node, p.open)
	}
}

// localNeeds finds what a separate resource needs of others within each instance of its module, and one node that waits for all else.
func (b *build) localNeeds(r *resource) (local []*Node, others *Node) {
	if r.places == nil {
		return nil, nil
	}
	var rest []*Node
	for _, id := range b.g.edges.Needs(r.open.ID) {
		if n := b.g.nodes[id]; n.completes() {
			local = append(local, n)
		} else {
			rest = append(rest, n)
		}
	}
	if local != nil {
		others = b.node(KindBarrier, nil, r.addr.String()+" (values)", nil)
		others.Resource = r
		b.after(others, rest...)
	}
	return local, others
}

// within gives what there is to wait for of a resource, or of a single instance of it, in one instance of the module.
func (b *build) within(n *Node, in addrs.ModuleInstance) []*Node {
	r := n.Resource
	if r.places == nil {
		return []*Node{n}
	}
	if one, ok := n.Object.(*oneInstance); ok {
		out := []*Node{r.expand}
		if s := one.steps[in]; s != nil {
			out = append(out, s.node)
		}
		return out
	}
	p := r.place(in)
	if p.node == nil {
		p.node = b.node(KindResourceIn, nil, r.addr.Resource.InInstance(in).String(), r.node.Range)
		p.node.Resource, p.node.In = r, in
		b.after(p.node, r.expand)
		for _, s := range p.steps {
			b.after(p.node, s.node)
		}
		b.after(r.node, p.node)
	}
	return []*Node{p.node}
}

// oneInstance is an instance of a resource, in all instances of its module, that references with a constant key wait for.
type oneInstance struct {
	node  *Node
	steps map[addrs.ModuleInstance]*step
}

// single gives the node to wait for where a reference names one instance: the resource's when nothing is done of that.
func (b *build) single(r *resource, key addrs.InstanceKey) *Node {
	if s := r.singles[key]; s != nil {
		return s.node
	}
	steps := b.makersOf(r)[key]
	if len(steps) == 0 {
		return r.node
	}
	s := &oneInstance{node: b.node(KindBarrier, nil, r.addr.String()+key.String(), nil), steps: map[addrs.ModuleInstance]*step{}}
	s.node.Resource, s.node.Object = r, s
	b.after(s.node, r.open)
	for _, st := range steps {
		s.steps[st.change.Addr.Module] = st
		b.after(s.node, st.node)
	}
	if r.singles == nil {
		r.singles = map[addrs.InstanceKey]*oneInstance{}
	}
	r.singles[key] = s
	return s.node
}

// makersOf gives the Steps that make a resource's instances, by their keys.
func (b *build) makersOf(r *resource) map[addrs.InstanceKey][]*step {
	if r.makers == nil {
		r.makers = map[addrs.InstanceKey][]*step{}
		for _, s := range b.steps[r] {
			if key := s.change.Addr.Key; s.part == stepApply {
				r.makers[key] = append(r.makers[key], s)
			}
		}
	}
	return r.makers
}
