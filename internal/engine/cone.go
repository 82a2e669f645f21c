package engine

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
)

// cone returns the objects whose values decide the plan: those that change, and those that they
// read directly, through named values, data sources, conditions, the arguments that decide their
// instances, and the configurations of their providers. If planning failed, blocks and values with
// errors count as changing, because other values of what they read may cause no error.
func (f finisher) cone() []addrs.Target {
	t := coneTracer{f.traceReads(), map[*reads.Provider]bool{}, map[addrs.ModuleInstance]bool{}}
	for _, c := range f.w.out.changes.Instances {
		if c.Action != plans.NoOp {
			t.found.add(addrs.Target{Module: c.Addr.Module, Resource: c.Addr.Resource, Key: c.Addr.Key, HasKey: true}, nil)
			t.around(f.w.graph.Resource(c.Addr.Config()), c)
		}
	}
	for _, d := range f.w.out.deferred {
		t.all(f.w.graph.Resource(d.Addr.Config()), d.Addr.Module)
	}
	t.failures()
	seen, out := map[addrs.Target]bool{}, []addrs.Target(nil)
	for _, attr := range t.found.sorted() {
		if !seen[attr.Resource] {
			seen[attr.Resource] = true
			out = append(out, attr.Resource)
		}
	}
	return out
}

// coneTracer follows more references than those for values of attributes.
type coneTracer struct {
	*readTracer
	providers map[*reads.Provider]bool
	calls     map[addrs.ModuleInstance]bool
}

// around follows the references of an instance's conditions, of its provider and of the calls around
// it.
func (t coneTracer) around(r *reads.Resource, c *plans.InstanceChange) {
	if r == nil {
		return
	}
	t.provider(r.Provider)
	t.module(c.Addr.Module)
	if r.Exprs == nil {
		return
	}
	in := t.ofInstance(r, c)
	for _, rule := range slices.Concat(r.Exprs.Preconditions, r.Exprs.Postconditions) {
		t.refs(&rule.Condition.Refs, in)
		t.refs(&rule.Message.Refs, in)
	}
	if r.Exprs.PreventDestroy != nil {
		t.refs(&r.Exprs.PreventDestroy.Refs, in)
	}
}

// all follows all references of a block that has no planned change.
func (t coneTracer) all(r *reads.Resource, at addrs.ModuleInstance) {
	if r == nil || r.Exprs == nil || r.Exprs.Body == nil {
		return
	}
	for _, refs := range r.Exprs.Repetition.Refs() {
		t.refs(refs, reads.Scope{Module: r.Module, In: at, Early: t.early})
	}
	t.whole(r, at)
	t.around(r, &plans.InstanceChange{Addr: r.Addr.Resource.InInstance(at).Instance(addrs.NoKey)})
}

// provider follows the references of a provider configuration.
func (t coneTracer) provider(p *reads.Provider) {
	if p == nil || p.Body == nil || t.providers[p] {
		return
	}
	t.providers[p] = true
	for _, in := range t.w.modules.of(p.Module) {
		t.refs(&p.Body.Refs, reads.Scope{Module: p.Module, In: in.addr, Early: t.early})
	}
}

// module follows the arguments that decide the instances of the modules around an object.
func (t coneTracer) module(at addrs.ModuleInstance) {
	for ; !at.IsRoot() && !t.calls[at]; at, _ = at.Parent() {
		t.calls[at] = true
		if m := t.w.graph.Modules[at.Module()]; m != nil && m.Parent != nil {
			for _, refs := range m.Repetition.Refs() {
				t.refs(refs, m.CallScope(at))
			}
		}
	}
}

// failures adds what the blocks and values that have errors read, and the objects of these blocks.
func (t coneTracer) failures() {
	g, failed := t.w.graph, t.w.failed
	for _, p := range g.Providers {
		if failed[p.Node.ID] {
			t.provider(p)
		}
	}
	for _, r := range g.Resources {
		if r.Config == nil || !failed[r.Node.ID] && !failed[r.Inputs.ID] {
			continue
		}
		for _, in := range t.w.modules.of(r.Module) {
			t.found.add(addrs.Target{Module: in.addr, Resource: r.Addr.Resource}, nil)
			t.all(r, in.addr)
		}
	}
	for _, v := range g.Values {
		if !failed[v.Node.ID] {
			continue
		}
		for _, in := range t.w.modules.of(v.Module) {
			t.value(v, in.addr, reads.Lead{Early: t.early})
			for _, c := range v.Conditions {
				t.refs(&c.Condition.Refs, reads.Scope{Module: v.Module, In: in.addr, Early: t.early})
			}
		}
	}
	for _, m := range g.Modules {
		if m.Expand != nil && failed[m.Expand.ID] {
			for _, in := range t.w.modules.of(m.Parent) {
				t.module(in.addr.Child(m.Call.Name, addrs.NoKey))
			}
		}
	}
}
