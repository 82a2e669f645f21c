package engine

import (
	"slices"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
)

// pending records, while planning, which nodes of a walk depend on pending changes. Such changes
// defer reading data sources and opening ephemeral resources.
type pending struct {
	graph     *graph.Graph
	modules   moduleTree
	resources []resourceResult
	upstream  []bool // by node: whether it or a node that it waits for has a pending change
}

// visit records at the start of a visit whether the node waits for a pending change.
func (p *pending) visit(n *reads.Node) {
	if p.before(n) {
		p.upstream[n.ID] = true
	}
}

// visited records at the end of a visit whether the node has a pending change itself.
func (p *pending) visited(n *reads.Node) {
	if n.Resource != nil && p.at(n) {
		p.upstream[n.ID] = true
	}
}

// of returns the pending changes of a resource.
func (p *pending) of(r *reads.Resource) *pendingChanges { return &p.resources[r.Index].pending }

// at reports whether the resource of a node has pending changes in the module instances that the node
// covers.
func (p *pending) at(n *reads.Node) bool {
	changes := p.of(n.Resource)
	switch {
	case !changes.exist():
		return false
	case n.In.IsRoot():
		return true
	}
	return slices.ContainsFunc(p.modules.within(n.Resource.Module, n.In), func(in *moduleInstance) bool {
		return changes.in(in.addr)
	})
}

// before reports whether any direct or indirect dependency of the node has a pending change.
func (p *pending) before(n *reads.Node) bool {
	return slices.ContainsFunc(p.graph.Edges.Needs(n.ID), func(need dag.ID) bool { return p.upstream[need] })
}

// dependency reports whether a managed resource that r depends on has a pending change. It
// considers the resources in r's deferral. For a resource in the same module as r, only changes in
// the same module instance count.
func (p *pending) dependency(r *reads.Resource, in *moduleInstance) bool {
	if !p.before(p.graph.NodeIn(r.Inputs, in.addr)) {
		return false
	}
	changes := func(other *reads.Resource) bool {
		switch {
		case other == r || other.Addr.Resource.Mode != addrs.Managed:
			return false
		case other.Addr.Module == r.Addr.Module:
			return p.of(other).in(in.addr)
		}
		return p.of(other).exist()
	}
	deferral := p.resources[r.Index].deferral
	if slices.ContainsFunc(deferral.direct, changes) {
		return true
	}
	from := deferral.from
	if one := p.graph.NodeIn(r.Inputs, in.addr); one != r.Inputs && len(from) > 0 {
		from = []dag.ID{one.ID} // what the others wait for isn't known yet
	}
	return p.anyReached(from, changes)
}

// anyReached reports whether match is true for any resource that one of the nodes in from depends
// on, directly or indirectly. For the node of one module instance, it checks instead whether there is a
// pending change there. It follows only nodes that have a pending change upstream, so it
// usually finds a match quickly.
func (p *pending) anyReached(from []dag.ID, match func(*reads.Resource) bool) bool {
	needs := func(id dag.ID) []dag.ID {
		if !p.upstream[id] {
			return nil
		}
		return p.graph.Edges.Needs(id)
	}
	for id := range dag.Reachable(from, needs) {
		switch n := p.graph.Nodes[id]; {
		case !p.upstream[id] || n.Resource == nil:
		case !n.In.IsRoot() && p.at(n), n.Kind.IsResource() && match(n.Resource):
			return true
		}
	}
	return false
}

// deferral determines which pending changes defer a data source or ephemeral resource to the apply:
// the changes of the resources in direct, and the changes of all resources that the nodes in from
// depend on, directly or indirectly.
type deferral struct {
	direct []*reads.Resource
	from   []dag.ID
}

func findDeferral(r *reads.Resource) *deferral {
	d := &deferral{}
	if r.HasConditions() {
		d.from = append(d.from, r.Inputs.ID)
		return d
	}
	m := r.Module
	for _, refs := range append(r.Exprs.Repetition.Refs(), &r.Exprs.Body.Refs) {
		for _, ref := range refs.Objects {
			if other := m.ResourceOf(ref.Subject); other != nil {
				d.direct = append(d.direct, other)
			}
		}
	}
	d.dependsOn(m, r.Exprs.DependsOn)
	for ; m.Call != nil; m = m.Parent {
		d.dependsOn(m.Parent, m.DependsOn)
		if m.DependsOn == nil {
			continue
		}
		for _, ref := range m.DependsOn.Objects {
			if other := m.Parent.ResourceOf(ref.Subject); other != nil {
				d.from = append(d.from, other.Node.ID)
			}
		}
	}
	return d
}

// dependsOn adds the references of a depends_on argument in module m. refs may be nil.
func (d *deferral) dependsOn(m *reads.Module, refs *lang.Refs) {
	if refs == nil {
		return
	}
	for _, ref := range refs.Objects {
		if other := m.ResourceOf(ref.Subject); other != nil {
			d.direct = append(d.direct, other)
		} else if n := m.NodeOf(ref.Subject); n != nil {
			d.from = append(d.from, n.ID)
		}
	}
}

// pendingChanges records the module instances in which a resource has pending changes. Most
// resources have pending changes in just one module instance, which needs no map.
type pendingChanges struct {
	mu    sync.Mutex
	some  bool
	first addrs.ModuleInstance
	more  map[addrs.ModuleInstance]bool
}

func (p *pendingChanges) add(m addrs.ModuleInstance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.some:
		p.some, p.first = true, m
	case m == p.first:
	case p.more == nil:
		p.more = map[addrs.ModuleInstance]bool{m: true}
	default:
		p.more[m] = true
	}
}

// exist reports whether there are pending changes in any module instance.
func (p *pendingChanges) exist() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.some
}

func (p *pendingChanges) in(m addrs.ModuleInstance) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.some && (m == p.first || p.more[m])
}
