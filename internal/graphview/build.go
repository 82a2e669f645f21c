package graphview

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
)

// Build converts a graph of the engine to a graph for people. plan may be nil. keys finds the keys with
// which the plan reads single instances through module calls; if it is nil, calls are read as a whole.
func Build(g *graph.Graph, plan *plans.Plan, keys reads.KnownKeys) *Graph {
	if plan == nil {
		plan = &plans.Plan{Changes: &plans.Changes{}}
	}
	b := &builder{
		graph: g, instances: findInstances(g, plan, keys), nodesOf: map[block][]int{}, alls: map[block]int{},
		wholes: map[*reads.Module]int{}, nodeOf: map[*member]int{}, connected: map[pair]bool{},
	}
	for _, m := range b.modules() {
		b.addCall(m)
	}
	for _, r := range g.Resources {
		b.addResource(r)
	}
	for _, v := range g.Values {
		b.addValue(v)
	}
	b.connectAll()
	return sorted(b.nodes, b.edges)
}

// valueKinds maps the engine's kinds of values to the kinds of their nodes.
var valueKinds = [...]Kind{reads.Variable: Variable, reads.Local: Local, reads.Output: Output}

type builder struct {
	graph     *graph.Graph
	instances *instances
	nodes     []Node
	edges     []Edge

	nodesOf   map[block][]int // nodes of each block; several if its members are in several groups
	nodeOf    map[*member]int // by member of a block with groups: its node
	alls      map[block]int   // see all
	connected map[pair]bool   // see connectInstances
	wholes    map[*reads.Module]int
}

// modules returns the modules in the order in which the engine added them.
func (b *builder) modules() []*reads.Module {
	return slices.SortedFunc(maps.Values(b.graph.Modules), func(x, y *reads.Module) int { return x.Index - y.Index })
}

func (b *builder) node(kind Kind, m *reads.Module, address string, at *hcl.Range) int {
	b.nodes = append(b.nodes, Node{Kind: kind, Address: address, Module: m.Path, At: at})
	return len(b.nodes) - 1
}

func (b *builder) edge(from, to int, at *hcl.Range) {
	b.edges = append(b.edges, Edge{From: from, To: to, At: at})
}

func (b *builder) addResource(r *reads.Resource) {
	of := block{resource: r}
	if !b.instances.split[of] {
		b.addInstances(r, r.Addr.String(), b.instances.members[of])
		return
	}
	for _, group := range b.instances.groups(of) {
		id := b.addInstances(r, b.instances.groupName(r, group), group)
		b.nodes[id].Reads = readsOf(group)
		if name := r.Addr.String(); b.nodes[id].Address != name {
			b.nodes[id].Resource = name
		}
		for _, m := range group {
			b.nodeOf[m] = id
		}
	}
}

// addInstances adds a node for instances of a resource.
func (b *builder) addInstances(r *reads.Resource, address string, list []*member) int {
	id := b.node(modes[r.Addr.Resource.Mode], r.Module, address, r.Node.Range)
	n := &b.nodes[id]
	n.Type = r.Addr.Resource.Type
	for _, m := range list {
		n.Changes, n.Deferred = append(n.Changes, m.changes...), append(n.Deferred, m.deferred...)
	}
	of := block{resource: r}
	b.nodesOf[of] = append(b.nodesOf[of], id)
	return id
}

// addValue adds the nodes of a value.
func (b *builder) addValue(v *reads.Value) {
	b.addGroups(block{value: v}, valueKinds[v.Kind], func(group []*member) string {
		return b.instances.valueName(v, group)
	})
}

// addGroups adds the nodes of a value or a module call. name returns the address of a node that represents
// some of its members.
func (b *builder) addGroups(of block, kind Kind, name func([]*member) string) {
	add := func(name string) int {
		id := b.node(kind, of.module(), name, of.at())
		b.nodesOf[of] = append(b.nodesOf[of], id)
		return id
	}
	if !b.instances.split[of] {
		add(of.name())
		return
	}
	for _, group := range b.instances.groups(of) {
		id := add(name(group))
		if b.nodes[id].Address != of.name() {
			b.nodes[id].Resource = of.name()
		}
		for _, m := range group {
			b.nodeOf[m] = id
		}
	}
}

// all returns the node that represents all instances of a block, or false if the block has no
// nodes. If the block has several nodes, the result is an additional node, which is added when
// something first refers to it.
func (b *builder) all(of block) (int, bool) {
	parts := b.nodesOf[of]
	if len(parts) < 2 {
		return append(parts, 0)[0], len(parts) > 0
	}
	id, ok := b.alls[of]
	if !ok {
		name, at := of.name(), of.at()
		id = b.node(All, of.module(), name+" (all)", at)
		b.nodes[id].Resource = name
		b.alls[of] = id
		for _, part := range parts {
			b.edge(id, part, at)
		}
	}
	return id, true
}

// addCall adds the nodes of a module call if the call has arguments that decide its instances, or
// depends_on.
func (b *builder) addCall(m *reads.Module) {
	if m.Call == nil || len(m.Repetition.Refs()) == 0 && m.DependsOn == nil {
		return
	}
	b.addGroups(block{call: m}, Call, func(group []*member) string { return b.instances.callName(m, group) })
}

func (b *builder) connectAll() {
	for _, r := range b.graph.Resources {
		b.connectResource(r)
	}
	for _, v := range b.graph.Values {
		b.connectValue(v)
	}
	for _, m := range b.modules() {
		call := block{call: m}
		for _, id := range b.nodesOf[call] {
			for _, refs := range m.Repetition.Refs() {
				b.refsOf(call, id, refs)
			}
			b.refs(id, m.Parent, m.DependsOn)
			b.inCall(call, id)
		}
		for _, c := range m.Checks {
			id := b.node(Check, m, c.Node.Name, &c.Config.Range)
			b.rules(id, m, c.Asserts)
			b.afterCall(id, m)
		}
	}
	b.connectProviders()
}

// connectProviders adds the provider configurations whose arguments refer to something.
func (b *builder) connectProviders() {
	ids := map[*reads.Provider]int{}
	for _, p := range b.graph.Providers {
		if p.Config != nil && p.Body != nil && len(p.Body.Refs.Objects) > 0 {
			ids[p] = b.node(Provider, p.Module, p.Addr.String(), &p.Config.Range)
			b.refs(ids[p], p.Module, &p.Body.Refs)
		}
	}
	for _, r := range b.graph.Resources {
		if id, ok := ids[r.Provider]; ok {
			for _, part := range b.nodesOf[block{resource: r}] {
				b.edge(part, id, b.nodes[id].At)
			}
		}
	}
}

func (b *builder) connectResource(r *reads.Resource) {
	for _, id := range b.nodesOf[block{resource: r}] {
		if r.Config != nil {
			b.inCall(block{resource: r}, id)
		}
		if r.Exprs != nil {
			b.connectBlock(r, id)
		}
		for _, imported := range b.graph.Imports[r] {
			for _, expr := range imported.Exprs() {
				b.refs(id, b.graph.Root, &expr.Refs)
			}
		}
		if key := r.ProviderKey; key != nil {
			b.refs(id, key.Module, &key.Expr.Refs)
		}
		if r.Config == nil {
			for dep := range r.StoredDependencies() {
				if other, ok := b.all(block{resource: b.graph.Resource(dep)}); ok {
					b.edge(id, other, nil)
				}
			}
		}
	}
}

// connectBlock adds edges for the references in the block of a resource.
func (b *builder) connectBlock(r *reads.Resource, id int) {
	rules := map[*lang.Refs]bool{}
	for _, rule := range slices.Concat(r.Exprs.Preconditions, r.Exprs.Postconditions) {
		rules[&rule.Condition.Refs], rules[&rule.Message.Refs] = true, true
	}
	for refs := range r.Exprs.References() {
		first := len(b.edges)
		b.refsOf(block{resource: r}, id, refs)
		if rules[refs] {
			b.areRules(first)
		}
	}
	b.nodes[id].Conditions = len(rules) > 0
}

// refsOf adds an edge for each reference of a block. For references to single instances, it adds the edges
// between the instances.
func (b *builder) refsOf(of block, id int, refs *lang.Refs) {
	in := b.instances.scope(of, nil)
	for _, one := range refs.Objects {
		r, ok := refOf(in, refs, one)
		whole := func(to block) bool { return !b.instances.exact[pair{of, to}] }
		exact := ok && !slices.ContainsFunc(r.to, whole)
		for _, to := range r.to {
			if exact {
				b.connectInstances(pair{of, to}, &one.Range)
			}
		}
		if exact {
			continue
		}
		if to, ok := b.target(in.Module, one.Subject); ok {
			b.edge(id, to, &one.Range)
		}
	}
}

// connectInstances adds the edges between the instances of two blocks. Further calls for the same pair
// do nothing.
func (b *builder) connectInstances(p pair, at *hcl.Range) {
	if b.connected[p] {
		return
	}
	b.connected[p] = true
	for _, m := range b.instances.members[p.from] {
		for _, n := range m.needs {
			if n.of == p.to {
				b.edges = append(b.edges, Edge{From: b.nodeOf[m], To: b.nodeOf[n.member], At: at, Single: true})
			}
		}
	}
	for _, m := range b.instances.whole[p] {
		if to, ok := b.all(p.to); ok {
			b.edge(b.nodeOf[m], to, at)
		}
	}
}

func (b *builder) connectValue(v *reads.Value) {
	for _, id := range b.nodesOf[block{value: v}] {
		if v.Expr != nil && v.EvaluatedBy() != nil {
			b.refsOf(block{value: v}, id, &v.Expr.Refs)
		}
		b.refs(id, v.Module, v.DependsOn)
		b.rules(id, v.Module, v.Conditions)
		b.inCall(block{value: v}, id)
	}
}

// rules adds edges for the references in the conditions of a value or a check.
func (b *builder) rules(id int, m *reads.Module, rules []reads.Condition) {
	first := len(b.edges)
	for _, rule := range rules {
		b.refs(id, m, &rule.Condition.Refs)
		b.refs(id, m, &rule.Message.Refs)
	}
	b.areRules(first)
	b.nodes[id].Conditions = len(rules) > 0
}

// areRules marks all edges from the index first to the end as references of conditions.
func (b *builder) areRules(first int) {
	for i := range b.edges[first:] {
		b.edges[first+i].Rule = true
	}
}

// inCall adds an edge from a node of a block to the call of the block's module, or edges between their
// instances.
func (b *builder) inCall(of block, id int) {
	m := of.module()
	if p := (pair{of, block{call: m}}); b.instances.exact[p] {
		b.connectInstances(p, p.to.at())
		return
	}
	b.afterCall(id, m)
}

// afterCall adds an edge from a node to the call of a module as a whole.
func (b *builder) afterCall(id int, m *reads.Module) {
	if call, ok := b.all(block{call: m}); ok {
		b.edge(id, call, b.nodes[call].At)
	}
}

// refs adds an edge for each reference to another node.
func (b *builder) refs(from int, m *reads.Module, refs *lang.Refs) {
	if refs == nil {
		return
	}
	for _, ref := range refs.Objects {
		if to, ok := b.target(m, ref.Subject); ok {
			b.edge(from, to, &ref.Range)
		}
	}
}

// target returns the node that a reference in a module names, or false if there is no such node.
func (b *builder) target(m *reads.Module, subject addrs.Referenceable) (int, bool) {
	of := m.Named(subject)
	if of.Call != nil && of.Value == nil {
		return b.whole(of.Call)
	}
	return b.all(block{value: of.Value, resource: of.Resource})
}

// whole returns the node that represents everything in a module. The node is added when something
// first refers to it.
func (b *builder) whole(m *reads.Module) (int, bool) {
	if m == nil {
		return 0, false
	}
	if id, ok := b.wholes[m]; ok {
		return id, true
	}
	id := b.node(Whole, m, m.Path.String(), &m.Call.Range)
	b.wholes[m] = id
	for _, r := range m.Resources {
		if all, ok := b.all(block{resource: r}); ok {
			b.edge(id, all, &m.Call.Range)
		}
	}
	for _, v := range m.Outputs {
		if all, ok := b.all(block{value: v}); ok {
			b.edge(id, all, &m.Call.Range)
		}
	}
	for _, child := range m.Calls {
		if to, ok := b.whole(child); ok {
			b.edge(id, to, &m.Call.Range)
		}
	}
	return id, true
}
