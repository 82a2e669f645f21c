package graphview

import (
	"fmt"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
)

// References between instances
//
// The instances of a resource may refer to single instances of another resource or of their own. In
// this case, the graph of a plan has a node for each of them, but if many instances are alike, they
// share a node. Two instances are alike if the instances that they refer to are alike, and the
// instances that refer to them are alike. For example, if each of b[0..49] refers to the instance
// of a that has the same key, b[0..49] is one node. But b[7] has its own node if something else
// refers to a[7].
//
// References to the resource as a whole lead to a node of the kind All, which leads to the nodes of
// the instances. There are no edges between all pairs of instances.

// alone is the maximum number of alike instances that have separate nodes. If there are more, they
// share a node.
const alone = 3

// member is an instance of a resource for which something is planned.
type member struct {
	addr     addrs.AbsInstance
	changes  []*plans.InstanceChange
	deferred []*plans.Deferred

	needs, users []need // instances that this one refers to, and instances that refer to it
	look         look   // members with the same look are alike
}

// need is one end of a reference between instances.
type need struct {
	*member
	of *graph.Resource
}

// look identifies a class of alike members.
type look int

// instances finds the references between the instances of a plan.
type instances struct {
	graph   *graph.Graph
	plan    *plans.Plan
	members map[*graph.Resource][]*member // sorted by address
	at      map[addrs.AbsInstance]*member

	exact map[pair]bool              // pairs in which an instance refers to single instances
	whole map[pair][]*member         // for these pairs, the instances that refer to the other resource as a whole
	split map[*graph.Resource]bool   // resources in these pairs
	pairs map[*graph.Resource][]pair // pairs by the resource that refers, except references to itself
	looks map[string]look

	modules map[*graph.Resource]int // number of module instances in which a resource has members
}

// pair is a resource that refers to another resource or to itself.
type pair struct{ from, to *graph.Resource }

// findInstances returns the references between the instances of a plan.
func findInstances(g *graph.Graph, plan *plans.Plan) *instances {
	s := &instances{graph: g, plan: plan, members: map[*graph.Resource][]*member{}, at: map[addrs.AbsInstance]*member{},
		exact: map[pair]bool{}, whole: map[pair][]*member{}, split: map[*graph.Resource]bool{},
		pairs: map[*graph.Resource][]pair{}, looks: map[string]look{}, modules: map[*graph.Resource]int{}}
	for _, c := range plan.Changes.Instances {
		if m := s.member(c.Addr); m != nil {
			m.changes = append(m.changes, c)
		}
	}
	for _, d := range plan.Deferred {
		if m := s.member(d.Addr); m != nil {
			m.deferred = append(m.deferred, d)
		}
	}
	for r, list := range s.members {
		slices.SortFunc(list, func(x, y *member) int { return x.addr.Compare(y.addr) })
		for i, m := range list {
			if i == 0 || m.addr.Module != list[i-1].addr.Module {
				s.modules[r]++
			}
		}
	}
	for _, r := range g.Resources {
		for _, read := range r.ReadsByInstance() {
			s.connect(r, read)
		}
	}
	s.compare()
	return s
}

func (s *instances) member(addr addrs.AbsInstance) *member {
	if m := s.at[addr]; m != nil {
		return m
	}
	r := s.graph.Resource(addr.Config())
	if r == nil {
		return nil
	}
	m := &member{addr: addr}
	s.at[addr], s.members[r] = m, append(s.members[r], m)
	return m
}

// connect adds the references from a resource to instances of the resource in read.
func (s *instances) connect(r *graph.Resource, read graph.IndexedRead) {
	p := pair{r, read.Of}
	var wholes []*member
	for _, m := range s.members[r] {
		keys, known := s.keys(r, m, read)
		if !known && r != read.Of {
			wholes = append(wholes, m)
		}
		for _, key := range keys {
			to := s.at[read.Of.Addr.Resource.InInstance(m.addr.Module).Instance(key)]
			if to == nil || to == m {
				continue
			}
			s.exact[p], s.split[r], s.split[read.Of] = true, true, true
			m.needs = append(m.needs, need{to, read.Of})
			to.users = append(to.users, need{m, r})
		}
	}
	if s.exact[p] {
		s.whole[p] = wholes
		if r != read.Of {
			s.pairs[r] = append(s.pairs[r], p)
		}
	}
}

// keys returns the keys of the instances of a resource that an instance refers to. It returns false
// if the instance refers to the resource as a whole.
func (s *instances) keys(r *graph.Resource, m *member, read graph.IndexedRead) (keys []addrs.InstanceKey, known bool) {
	of := read.Of.Addr.Resource
	c := s.plan.Changes.Instance(m.addr, addrs.NotDeposed)
	if c == nil && len(m.deferred) > 0 {
		c = &m.deferred[0].InstanceChange
	}
	if c == nil || c.Action == plans.Delete || c.Action == plans.Forget {
		return s.storedKeys(m.addr, read.Of)
	}
	for _, one := range c.Reads {
		if one.Resource == of {
			known = true
			if one.Key != addrs.NoKey {
				keys = append(keys, one.Key)
			}
		}
	}
	if known || read.Refs.Computed() {
		return keys, known
	}
	for _, ref := range read.Refs {
		if !slices.Contains(keys, ref.Key) {
			keys = append(keys, ref.Key)
		}
	}
	return keys, true
}

// storedKeys returns the keys of the instances of a resource on which an object depends according
// to the state. It returns false if the object depends on the resource as a whole.
func (s *instances) storedKeys(addr addrs.AbsInstance, of *graph.Resource) (keys []addrs.InstanceKey, known bool) {
	inst := s.plan.Prior.Instance(addr)
	if inst == nil || inst.Current == nil {
		return nil, false
	}
	for _, dep := range inst.Current.DependencyInstances {
		if dep.Abs() == of.Addr.Resource.InInstance(addr.Module) {
			known = true
			if dep.Key != addrs.NoKey {
				keys = append(keys, dep.Key)
			}
		}
	}
	return keys, known
}

// compare sets the looks of the members. It goes along the references and back, so that a
// difference between two members affects the looks at both ends of their references. Then it goes
// along the references again to spread the differences found on the way back.
func (s *instances) compare() {
	var order dag.Graph
	ids := map[*graph.Resource]dag.ID{}
	var resources []*graph.Resource
	for _, r := range s.graph.Resources {
		if s.split[r] {
			ids[r] = order.Add()
			resources = append(resources, r)
		}
	}
	for r, pairs := range s.pairs {
		for _, p := range pairs {
			order.Connect(ids[r], ids[p.to])
		}
	}
	needsFirst, ok := order.Order()
	if !ok {
		return // values between the resources form a cycle, which the engine has reported
	}
	forward := func(m *member) []need { return m.needs }
	for _, id := range needsFirst {
		s.look(resources[id], forward)
	}
	for _, id := range slices.Backward(needsFirst) {
		s.look(resources[id], func(m *member) []need { return m.users })
	}
	for _, id := range needsFirst {
		s.look(resources[id], forward)
	}
}

// look computes the new looks of a resource's members from their current looks and the looks of
// their neighbors. For references within the resource, only their existence counts, so instances
// that refer to one another in a chain are alike.
func (s *instances) look(r *graph.Resource, neighbors func(*member) []need) {
	wholes := map[*member]bool{}
	for _, p := range s.pairs[r] {
		for _, m := range s.whole[p] {
			wholes[m] = true
		}
	}
	next := make([]look, len(s.members[r]))
	for i, m := range s.members[r] {
		own := false
		var seen []look
		for _, n := range neighbors(m) {
			if n.of == r {
				own = true
			} else {
				seen = append(seen, n.look)
			}
		}
		slices.Sort(seen)
		_, number := m.addr.Key.IsInt()
		text := fmt.Sprint(r.Index, m.look, number, own, wholes[m], slices.Compact(seen))
		if _, known := s.looks[text]; !known {
			s.looks[text] = look(len(s.looks) + 1)
		}
		next[i] = s.looks[text]
	}
	for i, m := range s.members[r] {
		m.look = next[i]
	}
}

// groups returns the members that share a node, for each node of a resource. The groups are sorted
// by their first members.
func (s *instances) groups(r *graph.Resource) [][]*member {
	byLook := map[look][]*member{}
	for _, m := range s.members[r] {
		byLook[m.look] = append(byLook[m.look], m)
	}
	var out [][]*member
	for _, m := range s.members[r] {
		switch alike := byLook[m.look]; {
		case len(alike) <= alone:
			out = append(out, []*member{m})
		case alike[0] == m:
			out = append(out, alike)
		}
	}
	return out
}

// groupName returns the address of a node that stands for some members of a resource, such as
// a[0..3, 7]. It begins with the first instance, so it is unique. If the members have the same keys
// in all instances of the module, the name leaves out the keys of the module.
func (s *instances) groupName(r *graph.Resource, group []*member) string {
	if len(group) == 1 {
		return group[0].addr.String()
	}
	first, more := group, false
	for i, m := range group {
		if m.addr.Module != group[0].addr.Module {
			first, more = group[:i], true
			break
		}
	}
	where := first[0].addr.Abs().String()
	if s.sameEverywhere(r, group, len(first)) {
		where, more = r.Addr.String(), false
	}
	name := where + keysText(first)
	if more {
		name += ", …"
	}
	return name
}

// sameEverywhere reports whether a group has the same keys in all module instances in which the
// resource has members. n is the number of the group's members in the first module instance.
func (s *instances) sameEverywhere(r *graph.Resource, group []*member, n int) bool {
	if len(group) != n*s.modules[r] {
		return false
	}
	for i, m := range group {
		if m.addr.Key != group[i%n].addr.Key || m.addr.Module != group[i-i%n].addr.Module {
			return false
		}
	}
	return true
}

// maxKeys limits the number of keys, or ranges of keys, in the name of a node.
const maxKeys = 3

// keysText returns the keys of members in one module instance in the form of an index: [0..3, 7].
func keysText(group []*member) string {
	var parts []string
	for i := 0; i < len(group); i++ {
		if len(parts) == maxKeys {
			parts = append(parts, "…")
			break
		}
		first, number := group[i].addr.Key.IsInt()
		last := first
		for number && i+1 < len(group) {
			next, isInt := group[i+1].addr.Key.IsInt()
			if !isInt || next != last+1 {
				break
			}
			last = next
			i++
		}
		if last > first {
			parts = append(parts, fmt.Sprintf("%d..%d", first, last))
		} else if key := group[i].addr.Key; key != addrs.NoKey {
			parts = append(parts, strings.Trim(key.String(), "[]"))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// reads returns, by member, the instances that it refers to.
func reads(group []*member) map[addrs.AbsInstance][]addrs.AbsInstance {
	out := map[addrs.AbsInstance][]addrs.AbsInstance{}
	for _, m := range group {
		for _, n := range m.needs {
			out[m.addr] = append(out[m.addr], n.addr)
		}
	}
	return out
}
