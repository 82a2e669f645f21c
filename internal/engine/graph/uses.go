package graph

import (
	"slices"

	"tofu/internal/engine/reads"
	"tofu/internal/lang"
)

// usesSearch finds the Uses of one node.
type usesSearch struct {
	*nearest
	n    *reads.Node
	from *reads.Module // the module in which the expressions of the node are evaluated
	// byKey are the module calls that are read only by key, and the resources that are read so through
	// aliases. The node depends on these instances instead of on the outputs and on the values of the aliases.
	byKey  []reads.KeyedRead
	direct func() []reads.KeyedRead // the resources that are read only by key; see refsTo
	listed []reads.KeyedRead        // the result of direct; nil until its first call
	within *reads.Module            // the module that the node belongs to, whose own call is left out
	whole  map[*reads.Module]bool   // called modules that are used as a whole
}

// setUses sets the Uses of a node's value, block or module call. set holds the resources that the
// node reaches.
func (f *nearest) setUses(n *reads.Node, set *resourceSet) {
	s := usesSearch{nearest: f, n: n}
	indirect := func(list []reads.KeyedRead) []reads.KeyedRead {
		return slices.DeleteFunc(list, func(read reads.KeyedRead) bool { return read.Call == nil && read.Via == nil })
	}
	switch v, isValue := n.Object.(*reads.Value); {
	case isValue && n == v.Node:
		s.from, s.within, s.direct = v.EvaluatedBy(), v.Module, v.ReadsByInstance
		s.byKey = indirect(append(v.AddEach(slices.Clone(v.AliasReads()), v.Module.Each), v.CallReads...))
		v.Uses = s.find(set)
	case f.modules[n.ID] != nil:
		m := f.modules[n.ID]
		s.from, s.within = m.Parent, m.Parent
		each := m.FindEach()
		if each != nil && (m.DependsOn == nil || each.Via == nil && !each.NamedBy(m.Parent, m.DependsOn)) {
			s.byKey = indirect(slices.Clone(each.Reads))
			s.direct = func() []reads.KeyedRead { return each.Reads }
		}
		m.Uses = s.find(set)
	case n.Resource != nil && n == n.Resource.Inputs && n.Resource.Config != nil:
		r := n.Resource
		s.from, s.within, s.direct = r.Module, r.Module, r.ReadsByInstance
		s.byKey = indirect(slices.Clone(r.ByKey))
		r.Uses = s.find(set)
		if own := r.OwnInstances(); own != nil { // the graph has no edges for these
			if r.Uses == nil {
				r.Uses = &reads.Uses{}
			}
			r.Uses.Reads = append(r.Uses.Reads, reads.KeyedRead{Of: r, Refs: own})
		}
	}
}

// find returns the Uses of the search's node.
func (s *usesSearch) find(set *resourceSet) *reads.Uses {
	var needs []*reads.Node
	s.whole = map[*reads.Module]bool{}
	for _, id := range s.edges.Needs(s.n.ID) {
		to := s.b.g.Nodes[id]
		if to == s.n || s.reached[id] == nil && !s.leads(to) {
			continue
		}
		needs = append(needs, to)
		if m := to.Module; m != nil && m.Parent == s.from && (to == m.End || isOutput(to) && !m.Single()) &&
			!s.keyed(m) {
			s.whole[m] = true
		}
	}
	if len(needs)+len(s.byKey) == 0 {
		return nil
	}
	u := &reads.Uses{Reads: s.byKey, Reached: set.all()}
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
	u.Whole = s.b.g.Managed(others.all())
	return u
}

// refsTo returns the references to single instances of a resource, or nil if all instances are used.
func (s *usesSearch) refsTo(of *reads.Resource) lang.Instances {
	if s.direct == nil {
		return nil
	}
	if s.listed == nil {
		s.listed = append([]reads.KeyedRead{}, s.direct()...)
	}
	for _, read := range s.listed {
		if read.Of == of && read.Via == nil {
			return read.Refs
		}
	}
	return nil
}

// leads reports whether a node belongs to a value with Uses. Such a value may depend on resources
// that no edges lead to: those of siblings in a module call whose instances read each other.
func (s *usesSearch) leads(to *reads.Node) bool {
	v, ok := to.Object.(*reads.Value)
	return ok && to == v.Node && v.Uses != nil
}

func isOutput(n *reads.Node) bool {
	v, ok := n.Object.(*reads.Value)
	return ok && v.Kind == reads.Output
}

// keyed reports whether the node uses a module call only by instance.
func (s *usesSearch) keyed(call *reads.Module) bool {
	return slices.ContainsFunc(s.byKey, func(read reads.KeyedRead) bool { return read.Call == call })
}

// add adds the dependency on a node to u. It returns false if u can't express the dependency by
// instance.
func (s *usesSearch) add(u *reads.Uses, to *reads.Node) bool {
	v, isValue := to.Object.(*reads.Value)
	m := to.Module
	switch {
	case isValue && to == v.Node:
		switch {
		case slices.ContainsFunc(s.byKey, func(read reads.KeyedRead) bool { return read.Via == v }):
			return true
		case m == s.from, m == s.within, m.Parent == s.from && m.Single():
			u.Values = append(u.Values, v)
			return true
		}
		return m.Parent == s.from && s.keyed(m)
	case s.modules[to.ID] != nil:
		m := s.modules[to.ID]
		return m == s.within || m.Parent == s.from && !s.whole[m]
	case m != nil && to == m.End:
		return m.Parent == s.from && s.keyed(m)
	case to.Resource != nil && s.onlyByAlias(to.Resource):
		return true
	case to.Resource != nil && to.Kind == reads.KindResource && to.Resource.Module == s.from:
		of := to.Resource
		if !slices.ContainsFunc(u.Reads, func(read reads.KeyedRead) bool { return read.Of == of && read.Via == nil }) {
			u.Reads = append(u.Reads, reads.KeyedRead{Of: of, Refs: s.refsTo(of)})
		}
		return true
	}
	return false
}

// onlyByAlias reports whether the search's node reads a resource only through aliases. Its edges
// then lead to nodes of the resource instead of the aliases.
func (s *usesSearch) onlyByAlias(of *reads.Resource) bool {
	if !slices.ContainsFunc(s.byKey, func(read reads.KeyedRead) bool { return read.Of == of }) {
		return false
	}
	return of.Module != s.from || !slices.ContainsFunc(s.refs(), func(refs *lang.Refs) bool {
		return refs != nil && refs.Name(of.Addr.Resource)
	})
}

// refs returns the references of the search's node.
func (s *usesSearch) refs() []*lang.Refs {
	if v, ok := s.n.Object.(*reads.Value); ok {
		out := []*lang.Refs{&v.Expr.Refs, v.DependsOn}
		for _, rule := range v.Conditions {
			out = append(out, &rule.Condition.Refs, &rule.Message.Refs)
		}
		return out
	}
	if r := s.n.Resource; r != nil {
		return append(slices.Collect(r.Exprs.Units()), r.Exprs.DependsOn)
	}
	m := s.modules[s.n.ID]
	return append(m.Repetition.Refs(), m.DependsOn)
}
