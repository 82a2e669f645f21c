package graphview

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/lang"
	"tofu/internal/plans"
)

// Build returns the graph to look at for a graph of the engine. plan may be nil.
func Build(g *graph.Graph, plan *plans.Plan) *Graph {
	b := &builder{
		graph: g, changes: map[addrs.ConfigResource][]*plans.InstanceChange{},
		deferred:  map[addrs.ConfigResource][]*plans.Deferred{},
		resources: map[*graph.Resource]int{}, values: map[*graph.Value]int{}, calls: map[*graph.Module]int{},
		wholes: map[*graph.Module]int{},
	}
	if plan != nil {
		for _, c := range plan.Changes.Instances {
			addr := c.Addr.Config()
			b.changes[addr] = append(b.changes[addr], c)
		}
		for _, d := range plan.Deferred {
			addr := d.Addr.Config()
			b.deferred[addr] = append(b.deferred[addr], d)
		}
	}
	for _, m := range b.modules() {
		b.addCall(m)
	}
	for _, r := range g.Resources {
		b.addResource(r)
	}
	for _, v := range g.Values {
		b.values[v] = b.node(valueKinds[v.Kind], v.Module, v.Node.Name, v.Node.Range)
	}
	b.connectAll()
	return sorted(b.nodes, b.edges)
}

// valueKinds are the kinds of the nodes of values. A table by the engine's kinds, in their order.
var valueKinds = [...]Kind{graph.Variable: Variable, graph.Local: Local, graph.Output: Output}

type builder struct {
	graph    *graph.Graph
	nodes    []Node
	edges    []Edge
	changes  map[addrs.ConfigResource][]*plans.InstanceChange
	deferred map[addrs.ConfigResource][]*plans.Deferred

	resources     map[*graph.Resource]int
	values        map[*graph.Value]int
	calls, wholes map[*graph.Module]int
}

// modules returns the modules in the order in which the engine added them.
func (b *builder) modules() []*graph.Module {
	return slices.SortedFunc(maps.Values(b.graph.Modules), func(x, y *graph.Module) int { return x.Index - y.Index })
}

func (b *builder) node(kind Kind, m *graph.Module, address string, at *hcl.Range) int {
	b.nodes = append(b.nodes, Node{Kind: kind, Address: address, Module: m.Path, At: at})
	return len(b.nodes) - 1
}

func (b *builder) edge(from, to int, at *hcl.Range) { b.edges = append(b.edges, Edge{from, to, at}) }

func (b *builder) addResource(r *graph.Resource) {
	id := b.node(modes[r.Addr.Resource.Mode], r.Module, r.Addr.String(), r.Node.Range)
	b.nodes[id].Type = r.Addr.Resource.Type
	b.nodes[id].Changes, b.nodes[id].Deferred = b.changes[r.Addr], b.deferred[r.Addr]
	b.resources[r] = id
}

// addCall adds the node of a module call whose arguments decide the instances of the module or let
// it wait for something.
func (b *builder) addCall(m *graph.Module) {
	if m.Call == nil || len(m.Repetition.Refs()) == 0 && m.DependsOn == nil {
		return
	}
	b.calls[m] = b.node(Call, m.Parent, m.Path.String()+" (call)", &m.Call.Range)
}

// connectAll adds the edges of all nodes.
func (b *builder) connectAll() {
	for _, r := range b.graph.Resources {
		b.connectResource(r)
	}
	for _, v := range b.graph.Values {
		b.connectValue(v)
	}
	for _, m := range b.modules() {
		if id, ok := b.calls[m]; ok {
			for _, refs := range m.Repetition.Refs() {
				b.refs(id, m.Parent, refs)
			}
			b.refs(id, m.Parent, m.DependsOn)
			b.inCall(id, m.Parent)
		}
		for _, c := range m.Checks {
			id := b.node(Check, m, c.Node.Name, &c.Config.Range)
			b.conditions(id, m, c.Asserts)
			b.inCall(id, m)
		}
	}
	b.connectProviders()
}

// connectProviders adds the provider configurations that refer to something.
func (b *builder) connectProviders() {
	ids := map[*graph.Provider]int{}
	for _, p := range b.graph.Providers {
		if p.Config != nil && p.Body != nil && len(p.Body.Refs.Objects) > 0 {
			ids[p] = b.node(Provider, p.Module, p.Addr.String(), &p.Config.Range)
			b.refs(ids[p], p.Module, &p.Body.Refs)
		}
	}
	for _, r := range b.graph.Resources {
		if id, ok := ids[r.Provider]; ok {
			b.edge(b.resources[r], id, b.nodes[id].At)
		}
	}
}

func (b *builder) connectResource(r *graph.Resource) {
	id := b.resources[r]
	if r.Config != nil {
		b.inCall(id, r.Module)
	}
	if r.Exprs != nil {
		for refs := range r.Exprs.References() {
			b.refs(id, r.Module, refs)
		}
	}
	if r.Config == nil {
		for dep := range r.StoredDependencies() {
			if other, ok := b.resources[b.graph.Resource(dep)]; ok {
				b.edge(id, other, nil)
			}
		}
	}
}

func (b *builder) connectValue(v *graph.Value) {
	id := b.values[v]
	m := v.Module
	if v.Kind == graph.Variable {
		m = v.Module.Parent
	}
	if v.Expr != nil && m != nil {
		b.refs(id, m, &v.Expr.Refs)
	}
	b.refs(id, v.Module, v.DependsOn)
	b.conditions(id, v.Module, v.Conditions)
	b.inCall(id, v.Module)
}

func (b *builder) conditions(id int, m *graph.Module, rules []graph.Condition) {
	for _, rule := range rules {
		b.refs(id, m, &rule.Condition.Refs)
		b.refs(id, m, &rule.Message.Refs)
	}
}

// inCall lets a node wait for the call of its module.
func (b *builder) inCall(id int, m *graph.Module) {
	if m == nil {
		return
	}
	if call, ok := b.calls[m]; ok && call != id {
		b.edge(id, call, b.nodes[call].At)
	}
}

// refs adds an edge for each reference to another node.
func (b *builder) refs(from int, m *graph.Module, refs *lang.Refs) {
	if refs == nil {
		return
	}
	for _, ref := range refs.Objects {
		if to, ok := b.target(m, ref.Subject); ok {
			b.edge(from, to, &ref.Range)
		}
	}
}

// target returns the node that a reference in a module names.
func (b *builder) target(m *graph.Module, subject addrs.Referenceable) (int, bool) {
	switch s := subject.(type) {
	case addrs.InputVariable:
		return found(b.values, m.Variables[s.Name])
	case addrs.LocalValue:
		return found(b.values, m.Locals[s.Name])
	case addrs.ModuleCall:
		return b.whole(m.Calls[s.Name])
	case addrs.ModuleCallInstance:
		return b.whole(m.Calls[s.Name])
	case addrs.ModuleCallOutput:
		child := m.Calls[s.Call.Name]
		if child == nil || child.Outputs[s.Output] == nil {
			return b.whole(child)
		}
		return found(b.values, child.Outputs[s.Output])
	}
	return found(b.resources, m.ResourceOf(subject))
}

func found[K any](in map[*K]int, of *K) (int, bool) {
	id, ok := in[of]
	return id, ok
}

// whole returns the node of everything in a module. It is added when something refers to it.
func (b *builder) whole(m *graph.Module) (int, bool) {
	if m == nil {
		return 0, false
	}
	if id, ok := b.wholes[m]; ok {
		return id, true
	}
	id := b.node(Whole, m, m.Path.String(), &m.Call.Range)
	b.wholes[m] = id
	for _, r := range m.Resources {
		b.edge(id, b.resources[r], &m.Call.Range)
	}
	for _, v := range m.Outputs {
		b.edge(id, b.values[v], &m.Call.Range)
	}
	for _, child := range m.Calls {
		if to, ok := b.whole(child); ok {
			b.edge(id, to, &m.Call.Range)
		}
	}
	return id, true
}
