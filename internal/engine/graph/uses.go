package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/lang"
)

// Uses describes what a value, a block or a module call depends on. It lists the instances that
// each instance depends on, so that the state can store dependencies by instance.
// [Recorded.Dependencies] has the same dependencies by resource. A nil *Uses means that there are
// no dependencies.
type Uses struct {
	// Values are the values of the same module, of the calling module, or of a module with a single
	// instance that the same module calls.
	Values []*Value
	// Resources are the resources of the same or of the calling module. Refs is nil if all instances
	// are used.
	Resources []IndexedRead
	Calls     []CallRead  // single instances of module calls
	Whole     []*Resource // managed resources that are used in any other way, in all module instances

	all *resourceSet // all resources that can be reached through edges of the graph
}

// ByInstance reports whether instances of the same block may use different things.
func (u *Uses) ByInstance() bool {
	return u != nil && (len(u.Calls) > 0 ||
		slices.ContainsFunc(u.Resources, func(read IndexedRead) bool { return read.Refs != nil }))
}

// All returns all managed resources that are used directly or indirectly, without regard to
// instances.
func (u *Uses) All(g *Graph) []*Resource {
	if u == nil {
		return nil
	}
	return g.managed(u.all)
}

// managed returns the managed resources in a set.
func (g *Graph) managed(set *resourceSet) []*Resource {
	var out []*Resource
	for _, i := range set.all() {
		if r := g.Resources[i]; r.Addr.Resource.Mode == addrs.Managed {
			out = append(out, r)
		}
	}
	return out
}

// usesSearch finds the Uses of one node.
type usesSearch struct {
	*nearest
	n     *Node
	from  *Module // the module in which the expressions of the node are evaluated
	calls []CallRead
	reads func(of *Resource) lang.Instances // references to single instances; nil if all instances are used
	// aliases are the single instances that are read through aliases. The node depends on these
	// instances instead of on the values of the aliases.
	aliases []IndexedRead
	within  *Module          // the module that the node belongs to, whose own call is left out
	whole   map[*Module]bool // called modules that are used as a whole
}

// setUses sets the Uses of a node's value, block or module call. set holds the resources that the
// node reaches.
func (f *nearest) setUses(n *Node, set *resourceSet) {
	s := usesSearch{nearest: f, n: n}
	switch v, isValue := n.Object.(*Value); {
	case isValue && n == v.Node:
		s.from, s.within, s.calls = v.Module, v.Module, v.CallReads
		if v.Kind == Variable {
			s.from = v.Module.Parent
		}
		s.reads, s.aliases = v.instancesOf, v.addEach(slices.Clone(v.AliasReads()), v.Module.EachOf)
		s.aliases = slices.DeleteFunc(s.aliases, func(read IndexedRead) bool { return read.Via == nil })
		v.Uses = s.find(set, n)
	case f.modules[n.ID] != nil:
		m := f.modules[n.ID]
		s.from, s.within, s.reads = m.Parent, m.Parent, m.instancesOf
		if read := m.ChainedTo(); read != nil && read.Via != nil && m.DependsOn == nil {
			s.aliases = []IndexedRead{*read}
		}
		if call := m.ChainedCall(); call != nil && (m.DependsOn == nil || !m.DependsOn.NameCall(call.Call.Name)) {
			s.calls = m.eachCall().reads
		}
		m.Uses = s.find(set, n)
	case n.Resource != nil && n == n.Resource.Inputs && n.Resource.Config != nil:
		r := n.Resource
		s.from, s.within, s.calls = r.Module, r.Module, r.CallReads
		s.aliases = slices.DeleteFunc(slices.Clone(r.ByKey), func(read IndexedRead) bool { return read.Via == nil })
		var byInstance []IndexedRead
		s.reads = func(of *Resource) lang.Instances {
			if byInstance == nil {
				byInstance = r.ReadsByInstance()
			}
			at := slices.IndexFunc(byInstance, func(read IndexedRead) bool { return read.Of == of })
			if at < 0 {
				return nil
			}
			return byInstance[at].Refs
		}
		r.Uses = s.find(set, n)
		if own := r.OwnInstances(); own != nil { // the graph has no edges for these
			if r.Uses == nil {
				r.Uses = &Uses{}
			}
			r.Uses.Resources = append(r.Uses.Resources, IndexedRead{Of: r, Refs: own})
		}
	}
}

// find returns the Uses of the given nodes. The nodes are the node of the search and, for a block,
// the node that decides its instances.
func (s *usesSearch) find(set *resourceSet, nodes ...*Node) *Uses {
	var needs []*Node
	s.whole = map[*Module]bool{}
	for _, n := range nodes {
		if n == nil {
			continue
		}
		for _, id := range s.edges.Needs(n.ID) {
			to := s.b.g.Nodes[id]
			if to == n || slices.Contains(nodes, to) || s.reached[id] == nil && !s.leads(to) {
				continue
			}
			needs = append(needs, to)
			if m := to.Module; m != nil && m.Parent == s.from && (to == m.end || isOutput(to) && !m.single()) &&
				!s.keyed(m) {
				s.whole[m] = true
			}
		}
	}
	if len(needs) == 0 && len(s.calls) == 0 && len(s.aliases) == 0 {
		return nil
	}
	u := &Uses{Calls: s.calls, Resources: s.aliases, all: set}
	var rest []*resourceSet
	for _, to := range needs {
		if !s.add(u, to) && s.reached[to.ID] != nil {
			rest = append(rest, s.reached[to.ID])
		}
	}
	others := union(rest)
	for m := range s.whole {
		others = s.withoutImplied(m, others)
	}
	u.Whole = s.b.g.managed(others)
	return u
}

// leads reports whether a node belongs to a value with Uses. Such a value may depend on resources
// that no edges lead to: those of siblings in a module call whose instances read each other.
func (s *usesSearch) leads(to *Node) bool {
	v, ok := to.Object.(*Value)
	return ok && to == v.Node && v.Uses != nil
}

func isOutput(n *Node) bool {
	v, ok := n.Object.(*Value)
	return ok && v.Kind == Output
}

// single reports whether a module call has one instance, without a key.
func (m *Module) single() bool { return m.Repetition == Repetition{} }

// Repeated reports whether the instances of a module, or of a module that contains it, have keys.
func (m *Module) Repeated() bool {
	for ; m != nil; m = m.Parent {
		if m.Repetition.Repeats() {
			return true
		}
	}
	return false
}

// ReadsSiblings reports whether a module, or one around it, is called in such a way that the
// instances of the call read each other.
func (m *Module) ReadsSiblings() bool {
	for ; m != nil; m = m.Parent {
		if m.readsSiblings {
			return true
		}
	}
	return false
}

// keyed reports whether the node uses a module call only by instance.
func (s *usesSearch) keyed(call *Module) bool {
	return slices.ContainsFunc(s.calls, func(read CallRead) bool { return read.Call == call })
}

// add adds the dependency on a node to u. It returns false if u can't express the dependency by
// instance.
func (s *usesSearch) add(u *Uses, to *Node) bool {
	v, isValue := to.Object.(*Value)
	m := to.Module
	switch {
	case isValue && to == v.Node:
		switch {
		case slices.ContainsFunc(s.aliases, func(read IndexedRead) bool { return read.Via == v }),
			slices.ContainsFunc(s.calls, func(read CallRead) bool { return read.Via == v }):
			return true
		case m == s.from, m == s.within, m.Parent == s.from && m.single():
			u.Values = append(u.Values, v)
			return true
		}
		return m.Parent == s.from && s.keyed(m)
	case s.modules[to.ID] != nil:
		m := s.modules[to.ID]
		return m == s.within || m.Parent == s.from && !s.whole[m]
	case m != nil && to == m.end:
		return m.Parent == s.from && s.keyed(m)
	case to.Resource != nil && s.onlyByAlias(to.Resource):
		return true
	case to.Resource != nil && to.completes() && to.Resource.Module == s.from:
		of := to.Resource
		if !slices.ContainsFunc(u.Resources, func(read IndexedRead) bool { return read.Of == of && read.Via == nil }) {
			u.Resources = append(u.Resources, IndexedRead{Of: of, Refs: s.reads(of)})
		}
		return true
	}
	return false
}

// instancesOf returns the references of a value to single instances of a resource, or nil if the
// value may use other instances, too.
func (v *Value) instancesOf(of *Resource) lang.Instances {
	if v.Expr == nil || v.DependsOn != nil || of.Config == nil || !of.Exprs.Repetition.Repeats() {
		return nil
	}
	for _, rule := range v.Conditions {
		if v.Kind != Variable && (rule.Condition.Refs.Name(of.Addr.Resource) || rule.Message.Refs.Name(of.Addr.Resource)) {
			return nil
		}
	}
	refs, only := v.Expr.Refs.ByInstance(of.Addr.Resource)
	if !only && v.Expr.Refs.Name(of.Addr.Resource) {
		return nil
	}
	if v.Kind == Variable && v.Module.iterates(of) && v.ReadsEachValue() {
		refs = append(slices.Clip(refs), lang.InstanceRef{Index: eachKey})
	}
	return refs
}

// instancesOf returns the reference of a module call to the instance of a resource that has the
// same key, or nil if the call depends on all instances.
func (m *Module) instancesOf(of *Resource) lang.Instances {
	if !m.iterates(of) || m.DependsOn != nil && m.DependsOn.Name(of.Addr.Resource) {
		return nil
	}
	return lang.Instances{{Index: eachKey}}
}

// iterates reports whether the for_each of a module call is the given resource itself, not an alias
// of it.
func (m *Module) iterates(of *Resource) bool {
	read := m.ChainedTo()
	return read != nil && read.Via == nil && read.Of == of
}

// onlyByAlias reports whether the search's node reads a resource only through aliases. Its edges
// then lead to nodes of the resource instead of the aliases.
func (s *usesSearch) onlyByAlias(of *Resource) bool {
	if !slices.ContainsFunc(s.aliases, func(read IndexedRead) bool { return read.Of == of }) {
		return false
	}
	return of.Module != s.from || !slices.ContainsFunc(s.refs(), func(refs *lang.Refs) bool {
		return refs != nil && refs.Name(of.Addr.Resource)
	})
}

// refs returns the references of the search's node.
func (s *usesSearch) refs() []*lang.Refs {
	if v, ok := s.n.Object.(*Value); ok {
		out := []*lang.Refs{&v.Expr.Refs, v.DependsOn}
		for _, rule := range v.Conditions {
			out = append(out, &rule.Condition.Refs, &rule.Message.Refs)
		}
		return out
	}
	if r := s.n.Resource; r != nil {
		return append(slices.Collect(r.Exprs.units()), r.Exprs.DependsOn)
	}
	m := s.modules[s.n.ID]
	return append(m.Repetition.Refs(), m.DependsOn)
}
