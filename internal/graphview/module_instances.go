package graphview

import (
	"iter"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
)

// References between instances of modules
//
// An argument of a module call may read single instances, as in x = a[each.key].id. A block may
// read the outputs of single module instances, as in module.m[each.key].out. Everything in the
// module that depends on such an argument, or that such an output depends on, then has members in
// each module instance: instances of resources, and values. They refer to members of the same
// module instance. Each value has only one member per module instance, so there are no more edges
// than references.
//
// References to values are not followed further, except for each.value of a value that is a module call. So a path
// through the graph names the values on its way. A resource stays one node if only an output of the root module
// reads one of its instances.

// follow adds the references of all blocks that read single instances, and of what is between such blocks and
// arguments or outputs in the modules.
func (s *instances) follow() {
	outputs, arguments := map[*reads.Module][]block{}, map[*reads.Module][]block{}
	for _, b := range s.blocks() {
		inside := false // whether what depends on the block is followed by instance too
		for one := range s.refs(b) {
			if !one.lead.Single || one.lead.Call == nil && (!b.isArgument() || !b.value.PerInstance) {
				continue
			}
			s.traced[b] = true
			inside = inside || b.isArgument()
			for _, v := range one.lead.Values {
				outputs[one.lead.Call] = append(outputs[one.lead.Call], block{value: v})
			}
		}
		if inside {
			arguments[b.value.Module] = append(arguments[b.value.Module], b)
		}
	}
	s.reach(outputs, s.needs)
	if len(arguments) > 0 {
		users := s.users()
		s.reach(arguments, func(b block) []block { return users[b] })
	}
	for _, b := range s.blocks() {
		switch {
		case b.call != nil:
			s.addMembers(b, b.call)
		case b.value != nil && s.traced[b]:
			s.addMembers(b, b.value.Module)
		}
	}
	for _, b := range s.blocks() {
		s.connect(b)
	}
	for _, b := range s.blocks() {
		s.connectToCall(b)
	}
}

// blocks returns all blocks. Of module calls, it returns those whose for_each is an object.
func (s *instances) blocks() []block {
	var out []block
	for _, r := range s.graph.Resources {
		out = append(out, block{resource: r})
	}
	for _, v := range s.graph.Values {
		out = append(out, block{value: v})
	}
	for _, m := range s.graph.Modules {
		if m.Call != nil && m.ChainedTo() != nil {
			out = append(out, block{call: m})
		}
	}
	return out
}

// addMembers adds a member of a value or module call for each instance of a module.
func (s *instances) addMembers(b block, of *reads.Module) {
	list, _ := s.keys.ModuleInstances(of)
	for _, in := range list {
		s.members[b] = append(s.members[b], &member{in: in})
	}
}

// connectToCall adds references from a block in a module to the instances of the module's call.
func (s *instances) connectToCall(b block) {
	call := block{call: b.module()}
	if b.call != nil || !s.split[call] {
		return
	}
	in := s.byModule(call)
	for _, m := range s.members[b] {
		for _, to := range in[m.in] {
			s.add(pair{b, call}, m, to, false)
		}
	}
}

// users returns, for each block, the blocks that refer to it.
func (s *instances) users() map[block][]block {
	users := map[block][]block{}
	for _, b := range s.blocks() {
		for _, need := range s.needs(b) {
			users[need] = append(users[need], b)
		}
	}
	return users
}

// reach traces the blocks that can be reached from some values of each module. The function next
// returns the blocks to go to from a block. reach stays within that module and the modules that it
// calls.
func (s *instances) reach(from map[*reads.Module][]block, next func(block) []block) {
	for m, values := range from {
		outside := func(b block) bool { return !m.Path.Contains(b.module().Path) }
		for b := range dag.Reachable(values, func(b block) []block {
			return slices.DeleteFunc(slices.Clone(next(b)), outside)
		}) {
			s.traced[b] = true
		}
	}
}

// ref is a reference of a block.
type ref struct {
	*addrs.Reference
	refs *lang.Refs
	lead reads.Lead
	to   []block // the blocks of lead
}

// refs returns the references of a block to other blocks.
func (s *instances) refs(b block) iter.Seq[ref] {
	return func(yield func(ref) bool) {
		in := s.scope(b, nil)
		for refs := range b.references() {
			for _, one := range refs.Objects {
				if r, ok := refOf(in, refs, one); ok && !yield(r) {
					return
				}
			}
		}
	}
}

// follow returns what a reference leads to. For each.value of a value that is a module call, that is an instance of
// the call.
func follow(in reads.Scope, refs *lang.Refs, one *addrs.Reference) reads.Lead {
	to := in.Follow(refs, one)
	if each := to.Behind(); each.Call != nil && in.IsEach(refs, one) {
		return each
	}
	return to
}

// refOf returns a reference in a scope. It returns false if the reference is not to other blocks, or if it is to a
// module call but names no output.
func refOf(in reads.Scope, refs *lang.Refs, one *addrs.Reference) (ref, bool) {
	to := follow(in, refs, one)
	out := ref{Reference: one, refs: refs, lead: to}
	of := in.Module.Named(one.Subject)
	if of.Call != nil && of.Output == "" && (!to.Single || of.Key != addrs.NoKey && len(to.Rest) == 0) {
		return ref{}, false
	}
	if to.Resource != nil {
		out.to = []block{{resource: to.Resource}}
	}
	for _, v := range to.Values {
		out.to = append(out.to, block{value: v})
	}
	return out, len(out.to) > 0
}

// references returns the references of each expression of a block.
func (b block) references() iter.Seq[*lang.Refs] {
	switch v := b.value; {
	case b.call != nil:
		return slices.Values(b.call.Repetition.Refs())
	case v != nil && v.Expr != nil && v.EvaluatedBy() != nil:
		return slices.Values([]*lang.Refs{&v.Expr.Refs})
	case b.resource != nil && b.resource.Exprs != nil:
		return b.resource.Exprs.References()
	}
	return func(func(*lang.Refs) bool) {}
}

// scope returns where the references of a member of a block are followed, or those of the whole block if m is nil.
func (s *instances) scope(b block, m *member) reads.Scope {
	in := b.module().Path.UnkeyedInstance()
	if b.call != nil {
		in = b.call.Path.UnkeyedInstance()
	}
	if m == nil {
		m = &member{in: in}
	}
	switch {
	case b.call != nil:
		return b.call.CallScope(m.in)
	case b.value != nil:
		return b.value.Scope(m.in, s.keys)
	}
	var recorded []plans.InstanceRead
	if c := m.change(); c != nil {
		recorded = c.Reads
	}
	return b.resource.Scope(m.in, m.addr.Key, s.keys, recorded)
}

// change returns the planned or deferred change of the current object of an instance, or nil.
func (m *member) change() *plans.InstanceChange {
	for _, c := range m.changes {
		if c.Deposed == addrs.NotDeposed {
			return c
		}
	}
	if len(m.deferred) > 0 {
		return &m.deferred[0].InstanceChange
	}
	return nil
}

// isRemoved reports whether a member is an instance that the plan removes. The configuration then doesn't say what
// it depends on.
func (m *member) isRemoved() bool {
	c := m.change()
	return len(m.changes) > 0 && (c == nil || c.Action == plans.Delete || c.Action == plans.Forget)
}

// needs returns the blocks that a block refers to.
func (s *instances) needs(b block) []block {
	var out []block
	for r := range s.refs(b) {
		out = append(out, r.to...)
	}
	return out
}

// connect adds the references of the members of a block.
func (s *instances) connect(b block) {
	var list []ref
	for r := range s.refs(b) {
		r.to = slices.DeleteFunc(r.to, func(to block) bool { return !s.follows(b, r, to) })
		if len(r.to) > 0 {
			list = append(list, r)
		}
	}
	wholes := map[pair][]*member{}
	for _, m := range s.members[b] {
		in, added := s.scope(b, m), map[*member]bool{m: true}
		for _, r := range list {
			lead := follow(in, r.refs, r.Reference)
			for _, to := range r.to {
				p := pair{b, to}
				found, known := s.find(m, lead, to)
				if last := len(wholes[p]) - 1; !known && b != to && (last < 0 || wholes[p][last] != m) {
					wholes[p] = append(wholes[p], m)
				}
				for _, one := range found {
					if known && !added[one] {
						added[one] = true
						s.add(p, m, one, b == to || b.isArgument() && to.value != nil && to.module() == b.module())
					}
				}
			}
		}
	}
	for p, list := range wholes {
		if s.exact[p] {
			s.whole[p] = list
		}
	}
}

// isArgument reports whether a block is an argument of a module call.
func (b block) isArgument() bool { return b.value != nil && b.value.Kind == reads.Variable }

// follows reports whether members of a block may refer to single members of another one by the reference r.
func (s *instances) follows(b block, r ref, to block) bool {
	if to.value != nil {
		return b != to && s.traced[to] && (s.traced[b] || b.call != nil)
	}
	return r.lead.Single || s.traced[b] || to.resource.Config != nil && to.resource.Exprs.Repetition.Repeats()
}

// find returns the members of a block to which a member refers. It returns false if that can't be determined, or
// if they are all members in a module instance.
func (s *instances) find(m *member, to reads.Lead, of block) (list []*member, known bool) {
	if m.isRemoved() {
		if of.resource == nil || !to.Single {
			return nil, false
		}
		to.Keys, to.Known = s.storedKeys(m.addr, of.resource)
	}
	switch {
	case to.Single && !to.Known:
		return nil, false
	case of.value != nil:
		for _, in := range to.Modules() {
			list = append(list, s.byModule(of)[in]...)
		}
		return list, true
	case to.Known:
		for _, key := range to.Keys {
			if one := s.at[of.resource.Addr.Resource.InInstance(to.In).Instance(key)]; one != nil {
				list = append(list, one)
			}
		}
		return list, true
	}
	list = s.byModule(of)[to.In]
	return list, len(list) == 0 || len(list) == 1 && s.traced[of]
}

// byModule returns the members of a block by module instance.
func (s *instances) byModule(b block) map[addrs.ModuleInstance][]*member {
	out := s.inModule[b]
	if out == nil {
		out = map[addrs.ModuleInstance][]*member{}
		for _, m := range s.members[b] {
			out[m.in] = append(out[m.in], m)
		}
		s.inModule[b] = out
	}
	return out
}
