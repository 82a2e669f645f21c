package graphview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/reads"
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
// The same holds for module calls whose for_each is a resource, and for everything in their modules.
//
// References to the resource as a whole lead to a node of the kind All, which leads to the nodes of
// the instances. There are no edges between all pairs of instances.

// alone is the maximum number of alike instances that have separate nodes. If there are more, they
// share a node.
const alone = 3

// block is a resource, a value or a module call. All fields but one are nil.
type block struct {
	resource *reads.Resource
	value    *reads.Value
	call     *reads.Module
}

// name returns the name of the node that represents a block as a whole.
func (b block) name() string {
	switch {
	case b.call != nil:
		return b.call.Path.String() + callSuffix
	case b.value != nil:
		return b.value.Node.Name
	}
	return b.resource.Node.Name
}

// callSuffix ends the name of a node that represents a module call.
const callSuffix = " (call)"

// at returns the place of a block in the configuration.
func (b block) at() *hcl.Range {
	switch {
	case b.call != nil:
		return &b.call.Call.Range
	case b.value != nil:
		return b.value.Node.Range
	}
	return b.resource.Node.Range
}

// module returns the module of a block.
func (b block) module() *reads.Module {
	switch {
	case b.call != nil:
		return b.call.Parent
	case b.value != nil:
		return b.value.Module
	}
	return b.resource.Module
}

// member is an instance of a resource with a planned or deferred change, a value in one instance of
// its module, or an instance of a module call.
type member struct {
	in       addrs.ModuleInstance // for a module call, the instance itself
	addr     addrs.AbsInstance    // for instances of resources
	changes  []*plans.InstanceChange
	deferred []*plans.Deferred

	needs, users []need // instances that this one refers to, and instances that refer to it
	look         look   // members with the same look are alike
}

// need is one end of a reference between two instances.
type need struct {
	*member
	of block
	// own is true if both ends belong to one resource, or to instances of one module call that
	// refer to each other.
	own bool
}

// look identifies a class of alike members.
type look int

// instances finds the references between the instances of a plan.
type instances struct {
	graph   *graph.Graph
	plan    *plans.Plan
	keys    reads.KnownKeys
	members map[block][]*member // sorted by address
	at      map[addrs.AbsInstance]*member

	traced   map[block]bool                               // blocks whose references are followed by instance
	inModule map[block]map[addrs.ModuleInstance][]*member // see byModule

	exact map[pair]bool      // pairs in which an instance refers to single instances
	whole map[pair][]*member // by pair in exact: the instances that refer to the other block as a whole
	split map[block]bool     // blocks in these pairs
	pairs map[block][]pair   // pairs by the block that refers, without references to the block itself or to siblings
	looks map[string]look

	modules map[block]int // number of module instances in which a resource has members
}

// pair is a block that refers to another block or to itself.
type pair struct{ from, to block }

// findInstances returns the references between the instances of a plan. keys may be nil if the plan is empty.
func findInstances(g *graph.Graph, plan *plans.Plan, keys reads.KnownKeys) *instances {
	s := &instances{graph: g, plan: plan, keys: keys, members: map[block][]*member{}, at: map[addrs.AbsInstance]*member{},
		exact: map[pair]bool{}, whole: map[pair][]*member{}, split: map[block]bool{},
		traced: map[block]bool{}, inModule: map[block]map[addrs.ModuleInstance][]*member{},
		pairs: map[block][]pair{}, looks: map[string]look{}, modules: map[block]int{}}
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
	if len(s.at) > 0 {
		s.follow()
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
	m, b := &member{addr: addr, in: addr.Module}, block{resource: r}
	s.at[addr], s.members[b] = m, append(s.members[b], m)
	return m
}

// add adds a reference from one member to another.
func (s *instances) add(p pair, from, to *member, own bool) {
	if !s.exact[p] {
		s.exact[p], s.split[p.from], s.split[p.to] = true, true, true
	}
	if !own && !slices.Contains(s.pairs[p.from], p) {
		s.pairs[p.from] = append(s.pairs[p.from], p)
	}
	from.needs = append(from.needs, need{to, p.to, own})
	to.users = append(to.users, need{from, p.from, own})
}

// storedKeys returns the keys of the instances of a resource on which an object depends according
// to the state. It returns false if the state records no dependency on such instances.
func (s *instances) storedKeys(addr addrs.AbsInstance, of *reads.Resource) (keys []addrs.InstanceKey, known bool) {
	obj := s.plan.Prior.Current(addr)
	if obj == nil {
		return nil, false
	}
	for _, dep := range obj.DependencyInstances {
		if dep.Abs() == of.Addr.Resource.InInstance(addr.Module) {
			known = true
			if dep.Key != addrs.NoKey {
				keys = append(keys, dep.Key)
			}
		}
	}
	return keys, known
}

// compare sets the looks of the members. It follows the references in both directions, so a
// difference between two members affects the looks at both ends of their references. Then it
// follows the references forward again, to spread the differences found in the backward direction.
func (s *instances) compare() {
	var order dag.Graph
	ids := map[block]dag.ID{}
	var blocks []block
	add := func(b block) {
		if s.split[b] {
			ids[b] = order.Add()
			blocks = append(blocks, b)
		}
	}
	for _, r := range s.graph.Resources {
		add(block{resource: r})
	}
	for _, v := range s.graph.Values {
		add(block{value: v})
	}
	for _, m := range s.graph.Modules {
		add(block{call: m})
	}
	for b, pairs := range s.pairs {
		for _, p := range pairs {
			order.Connect(ids[b], ids[p.to])
		}
	}
	needsFirst, ok := order.Order()
	if !ok {
		return // values between the resources form a cycle, which the engine has reported
	}
	forward := func(m *member) []need { return m.needs }
	for _, id := range needsFirst {
		s.look(blocks[id], forward)
	}
	for _, id := range slices.Backward(needsFirst) {
		s.look(blocks[id], func(m *member) []need { return m.users })
	}
	for _, id := range needsFirst {
		s.look(blocks[id], forward)
	}
}

// look computes the new looks of a block's members from their current looks and the looks of their
// neighbors. For references within the block, or between instances of one module call, it considers
// only whether they exist, so the links of a chain are alike.
func (s *instances) look(b block, neighbors func(*member) []need) {
	wholes := map[*member]bool{}
	for _, p := range s.pairs[b] {
		for _, m := range s.whole[p] {
			wholes[m] = true
		}
	}
	next := make([]look, len(s.members[b]))
	for i, m := range s.members[b] {
		own := false
		var seen []look
		for _, n := range neighbors(m) {
			if n.own {
				own = true
			} else {
				seen = append(seen, n.look)
			}
		}
		slices.Sort(seen)
		_, number := m.addr.Key.IsInt()
		text := fmt.Sprint(b.name(), m.look, number, own, wholes[m], slices.Compact(seen))
		if _, known := s.looks[text]; !known {
			s.looks[text] = look(len(s.looks) + 1)
		}
		next[i] = s.looks[text]
	}
	for i, m := range s.members[b] {
		m.look = next[i]
	}
}

// groups returns the members that share a node, for each node of a block. The groups are sorted by their
// first members.
func (s *instances) groups(b block) [][]*member {
	byLook := map[look][]*member{}
	for _, m := range s.members[b] {
		byLook[m.look] = append(byLook[m.look], m)
	}
	var out [][]*member
	for _, m := range s.members[b] {
		switch alike := byLook[m.look]; {
		case len(alike) <= alone:
			out = append(out, []*member{m})
		case alike[0] == m:
			out = append(out, alike)
		}
	}
	return out
}

// groupName returns the address of a node that represents some members of a resource, such as
// a[0..3, 7]. It begins with the first instance, so it is unique. If the members have the same keys
// in all instances of the module, the name leaves out the keys of the module.
func (s *instances) groupName(r *reads.Resource, group []*member) string {
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
func (s *instances) sameEverywhere(r *reads.Resource, group []*member, n int) bool {
	if len(group) != n*s.modules[block{resource: r}] {
		return false
	}
	for i, m := range group {
		if m.addr.Key != group[i%n].addr.Key || m.addr.Module != group[i-i%n].addr.Module {
			return false
		}
	}
	return true
}

// callName returns the address of a node that represents some instances of a module call.
func (s *instances) callName(m *reads.Module, group []*member) string {
	name := group[0].in.String() + callSuffix
	switch {
	case len(group) == 1:
		return name
	case len(group) == len(s.members[block{call: m}]):
		return block{call: m}.name()
	}
	return name + ", …"
}

// valueName returns the address of a node that represents a value in some module instances.
func (s *instances) valueName(v *reads.Value, group []*member) string {
	name := v.Node.Name
	if len(group) == len(s.members[block{value: v}]) && len(group) > 1 {
		return name
	}
	if in := group[0].in; !in.IsRoot() {
		name = in.String() + strings.TrimPrefix(name, v.Module.Path.String())
	}
	if len(group) > 1 {
		name += ", …"
	}
	return name
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

// readsOf returns, by member, the instances that it refers to.
func readsOf(group []*member) map[addrs.AbsInstance][]addrs.AbsInstance {
	out := map[addrs.AbsInstance][]addrs.AbsInstance{}
	for _, m := range group {
		for _, n := range m.needs {
			if n.of.resource != nil {
				out[m.addr] = append(out[m.addr], n.addr)
			}
		}
	}
	return out
}
