package graph

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
		for _, r := range b.g.Resources {
			if len(b.steps[r]) > 0 {
				b.connectSteps(r)
			}
		}
		return nil
	},
}

// noteSteps notes that there are Steps in an instance of the module.
func (m *Module) noteSteps(in addrs.ModuleInstance) {
	m.stepsVary = m.stepsVary || m.hasSteps && m.stepsIn != in
	m.stepsIn, m.hasSteps = in, true
}

// placement is what is done of a resource in one instance of its module.
type moduleSteps struct {
	steps []*Step
	open  *Node // what the steps wait for
	node  *Node // settles the resource there; nil while nobody asks for it
}

// separate gives a resource whose Steps lie in several instances of its module a node that decides its instances without waiting
// for all that the block refers to.
func (b *build) separateExpansion(r *Resource) {
	independent := r.Addr.Resource.Mode != addrs.Ephemeral && r.Config.Check == nil
	if !independent || !r.Module.stepsVary || len(b.steps[r]) == 0 {
		return
	}
	r.expand = b.node(KindExpand, r.Module, r.Inputs.Name, r.Inputs.Range)
	r.expand.Resource = r
	r.Inputs.Kind, r.Inputs.Name = KindBarrier, r.Addr.String()+" (needs)"
	r.moduleSteps = map[addrs.ModuleInstance]*moduleSteps{}
	for _, s := range b.steps[r] {
		if s.Part == stepApply {
			p := r.stepsIn(s.Change.Addr.Module)
			p.steps = append(p.steps, s)
		}
	}
}

func (r *Resource) stepsIn(in addrs.ModuleInstance) *moduleSteps {
	if r.moduleSteps[in] == nil {
		r.moduleSteps[in] = &moduleSteps{}
	}
	return r.moduleSteps[in]
}

// connectSteps has the Steps that make something wait for what they need, and the resource for them.
func (b *build) connectSteps(r *Resource) {
	local, others := b.localNeeds(r)
	for _, s := range b.steps[r] {
		if s.Part != stepApply {
			continue
		}
		b.after(r.Node, s.node)
		if local == nil {
			b.after(s.node, r.Inputs)
			continue
		}
		in := s.Change.Addr.Module
		p := r.stepsIn(in)
		if p.open == nil {
			p.open = b.node(KindBarrier, nil, r.Addr.Resource.InInstance(in).String()+" (needs)", nil)
			p.open.Resource = r
			b.after(p.open, others)
			for _, n := range local {
				b.after(p.open, b.nodesIn(n, in)...)
			}
		}
		b.after(s.node, p.open)
	}
}

// localNeeds finds what a separate resource needs of others within each instance of its module, and one node that waits for all else.
func (b *build) localNeeds(r *Resource) (local []*Node, others *Node) {
	if r.moduleSteps == nil {
		return nil, nil
	}
	var rest []*Node
	for _, id := range b.g.Edges.Needs(r.Inputs.ID) {
		if n := b.g.Nodes[id]; n.completes() {
			local = append(local, n)
		} else {
			rest = append(rest, n)
		}
	}
	if local != nil {
		others = b.node(KindBarrier, nil, r.Addr.String()+" (values)", nil)
		others.Resource = r
		b.after(others, rest...)
	}
	return local, others
}

// within gives what there is to wait for of a resource, or of a single instance of it, in one instance of the module.
func (b *build) nodesIn(n *Node, in addrs.ModuleInstance) []*Node {
	r := n.Resource
	if r.moduleSteps == nil {
		return []*Node{n}
	}
	if one, ok := n.Object.(*InstanceBarrier); ok {
		out := []*Node{r.expand}
		if s := one.Steps[in]; s != nil {
			out = append(out, s.node)
		}
		return out
	}
	p := r.stepsIn(in)
	if p.node == nil {
		p.node = b.node(KindResourceIn, nil, r.Addr.Resource.InInstance(in).String(), r.Node.Range)
		p.node.Resource, p.node.In = r, in
		b.after(p.node, r.expand)
		for _, s := range p.steps {
			b.after(p.node, s.node)
		}
		b.after(r.Node, p.node)
	}
	return []*Node{p.node}
}

// oneInstance is an instance of a resource, in all instances of its module, that references with a constant key wait for.
type InstanceBarrier struct {
	node  *Node
	Steps map[addrs.ModuleInstance]*Step
}

// single gives the node to wait for where a reference names one instance: the resource's when nothing is done of that.
func (b *build) instanceBarrier(r *Resource, key addrs.InstanceKey) *Node {
	if s := r.Barriers[key]; s != nil {
		return s.node
	}
	steps := b.writersOf(r)[key]
	if len(steps) == 0 {
		return r.Node
	}
	s := &InstanceBarrier{node: b.node(KindBarrier, nil, r.Addr.String()+key.String(), nil), Steps: map[addrs.ModuleInstance]*Step{}}
	s.node.Resource, s.node.Object = r, s
	b.after(s.node, r.Inputs)
	for _, st := range steps {
		s.Steps[st.Change.Addr.Module] = st
		b.after(s.node, st.node)
	}
	if r.Barriers == nil {
		r.Barriers = map[addrs.InstanceKey]*InstanceBarrier{}
	}
	r.Barriers[key] = s
	return s.node
}

// makersOf gives the Steps that make a resource's instances, by their keys.
func (b *build) writersOf(r *Resource) map[addrs.InstanceKey][]*Step {
	if r.writers == nil {
		r.writers = map[addrs.InstanceKey][]*Step{}
		for _, s := range b.steps[r] {
			if key := s.Change.Addr.Key; s.Part == stepApply {
				r.writers[key] = append(r.writers[key], s)
			}
		}
	}
	return r.writers
}
