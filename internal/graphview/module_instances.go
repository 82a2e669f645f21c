package graphview

import (
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

// callTracer finds the references between members through module calls.
type callTracer struct {
	*instances
	keys   reads.EarlyKeys
	traced map[block]bool // blocks whose references are followed by instance
}

// trace adds the references of all blocks that read single module instances, of arguments that read
// single instances, and of everything between these in the modules.
func (t *callTracer) trace() {
	outputs, arguments := map[*reads.Module][]block{}, map[*reads.Module][]block{}
	addOutputs := func(list []reads.KeyedRead) {
		for _, read := range list {
			for _, output := range read.Outputs() {
				outputs[read.Call] = append(outputs[read.Call], block{value: output})
			}
		}
	}
	for _, r := range t.graph.Resources {
		if calls := r.Calls(); calls != nil {
			t.traced[block{resource: r}] = true
			addOutputs(calls)
		}
	}
	for _, v := range t.graph.Values {
		if !t.readsInstances(v) {
			continue
		}
		addOutputs(v.CallReads)
		t.traced[block{value: v}] = true
		if v.Kind == reads.Variable {
			arguments[v.Module] = append(arguments[v.Module], block{value: v})
		}
	}
	t.reach(outputs, t.needs)
	if len(arguments) > 0 {
		users := t.users()
		t.reach(arguments, func(b block) []block { return users[b] })
	}
	for _, v := range t.graph.Values {
		if b := (block{value: v}); t.traced[b] {
			t.addMembers(v)
		}
	}
	for _, r := range t.graph.Resources {
		if b := (block{resource: r}); t.traced[b] {
			t.connectAll(b)
		}
	}
	for _, v := range t.graph.Values {
		if b := (block{value: v}); t.traced[b] {
			t.connectAll(b)
		}
	}
	for _, m := range t.graph.Modules {
		t.connectCall(m)
	}
}

// chainedBlocks returns the resource in the for_each of a module call or, if that is another call, the
// outputs of that call that arguments read with each.value.
func chainedBlocks(m *reads.Module) []block {
	if m.Call == nil {
		return nil
	}
	if of := m.ChainedTo(); of != nil && of.Call == nil && of.Via == nil {
		return []block{{resource: of.Of}}
	}
	var out []block
	for _, v := range m.Variables {
		out = addOutputs(out, v.CallReads)
	}
	return out
}

// addOutputs adds to blocks the outputs that are read with each.value.
func addOutputs(blocks []block, list []reads.KeyedRead) []block {
	for _, read := range list {
		if !read.ByEach() {
			continue
		}
		for _, output := range read.Outputs() {
			if b := (block{value: output}); !slices.Contains(blocks, b) {
				blocks = append(blocks, b)
			}
		}
	}
	return blocks
}

// connectCall adds references from the instances of a call to the instances that have the same key of
// what its for_each names. It also adds references from the resources and values in the module to the
// instances of the call.
func (t *callTracer) connectCall(m *reads.Module) {
	chain := chainedBlocks(m)
	if len(chain) == 0 {
		return
	}
	list, _ := t.keys.ModuleInstances(m)
	call, calls := block{call: m}, map[addrs.ModuleInstance]*member{}
	for _, in := range list {
		calls[in] = &member{in: in}
	}
	for _, of := range chain {
		members := t.byModule(of)
		for _, in := range list {
			parent, step := in.Parent()
			if of.resource != nil {
				if to := t.at[of.resource.Addr.Resource.InInstance(parent).Instance(step.Key)]; to != nil {
					t.add(pair{call, of}, calls[in], to, false)
				}
				continue
			}
			for _, to := range members[parent.Child(of.module().Call.Name, step.Key)] {
				t.add(pair{call, of}, calls[in], to, false)
			}
		}
	}
	for _, in := range list {
		if t.split[call] {
			t.members[call] = append(t.members[call], calls[in])
		}
	}
	connect := func(b block) {
		for _, one := range t.members[b] {
			if in := calls[one.in]; in != nil && t.split[call] {
				t.add(pair{b, call}, one, in, false)
			}
		}
	}
	for _, r := range m.Resources {
		connect(block{resource: r})
	}
	for _, values := range []map[string]*reads.Value{m.Variables, m.Locals, m.Outputs} {
		for _, v := range values {
			connect(block{value: v})
		}
	}
}

// readsInstances reports whether a value reads single instances of module calls or, in an argument, of
// resources.
func (t *callTracer) readsInstances(v *reads.Value) bool {
	switch {
	case v.Expr == nil:
		return false
	case len(v.CallReads) > 0:
		return true
	case v.Kind != reads.Variable || !v.PerInstance:
		return false
	case v.ReadsEachValue():
		if of := v.Module.ChainedTo(); of != nil && of.Call == nil {
			return true
		}
	}
	return slices.ContainsFunc(v.Expr.Refs.Objects, func(ref *addrs.Reference) bool {
		return v.Module.Parent.ResourceOf(ref.Subject) != nil && v.Expr.Refs.SelectsInstance(ref)
	})
}

// users returns, for each block, the blocks that refer to it.
func (t *callTracer) users() map[block][]block {
	users := map[block][]block{}
	add := func(b block) {
		for _, need := range t.needs(b) {
			users[need] = append(users[need], b)
		}
	}
	for _, r := range t.graph.Resources {
		add(block{resource: r})
	}
	for _, v := range t.graph.Values {
		add(block{value: v})
	}
	return users
}

// reach traces the blocks that can be reached from some values of each module. The function next
// returns the blocks to go to from a block. reach stays within that module and the modules that it
// calls.
func (t *callTracer) reach(from map[*reads.Module][]block, next func(block) []block) {
	for m, values := range from {
		outside := func(b block) bool { return !m.Path.Contains(b.module().Path) }
		for b := range dag.Reachable(values, func(b block) []block {
			return slices.DeleteFunc(slices.Clone(next(b)), outside)
		}) {
			t.traced[b] = true
		}
	}
}

// ref is a reference of a block, with the block or call that it refers to.
type ref struct {
	*addrs.Reference
	refs *lang.Refs
	to   block
	call *reads.Module // the call whose output it refers to; nil for none
	each bool          // whether it is each.value, which is the instance of to, or of call, with the same key
}

// refs returns the references of a block to other blocks.
func (t *callTracer) refs(b block) []ref {
	var out []ref
	m := b.module()
	add := func(refs *lang.Refs) {
		for _, one := range refs.Objects {
			out = append(out, targets(b, m, refs, one)...)
		}
	}
	switch v := b.value; {
	case v == nil && b.resource.Exprs != nil:
		for refs := range b.resource.Exprs.References() {
			add(refs)
		}
	case v == nil, v.Expr == nil:
	default:
		if v.Kind == reads.Variable {
			m = m.Parent
		}
		if m != nil {
			add(&v.Expr.Refs)
		}
	}
	return out
}

// eachRefs returns what a block reads with each.value, if its for_each is a module call or, for an
// argument, a resource. one must be the reference in the for_each of a resource or a call, or each.value
// in an argument. eachRefs returns nil for all other references.
func eachRefs(b block, refs *lang.Refs, one *addrs.Reference) []ref {
	var to []block
	switch v := b.value; {
	case b.call != nil:
		to = slices.DeleteFunc(chainedBlocks(b.call), func(of block) bool { return of.value == nil })
	case v == nil && b.resource.ChainedTo() != nil && refs == &b.resource.Exprs.Repetition.ForEach.Refs:
		to = addOutputs(nil, b.resource.Calls())
	case v == nil || one.Subject != addrs.ForEachAttr{Name: "value"}:
	default:
		if to = chainedBlocks(v.Module); len(to) == 0 || to[0].resource == nil {
			to = addOutputs(nil, v.CallReads)
		}
	}
	var out []ref
	for _, of := range to {
		r := ref{Reference: one, refs: refs, to: of, each: true}
		if of.value != nil {
			r.call = of.module()
		}
		out = append(out, r)
	}
	return out
}

// targets returns the blocks that a reference of b, in the module m, refers to.
func targets(b block, m *reads.Module, refs *lang.Refs, one *addrs.Reference) []ref {
	if each := eachRefs(b, refs, one); each != nil {
		return each
	}
	of := m.Named(one.Subject)
	out := ref{Reference: one, refs: refs, call: of.Call}
	out.to.value, out.to.resource = of.Value, of.Resource
	if of.IsWholeCall() && refs.SelectsInstance(one) {
		out.to.value = of.Call.Outputs[refs.Instance(one).Output]
	}
	if out.to == (block{}) {
		return nil
	}
	return []ref{out}
}

// needs returns the blocks that a block refers to.
func (t *callTracer) needs(b block) []block {
	var out []block
	for _, r := range t.refs(b) {
		out = append(out, r.to)
	}
	return out
}

// addMembers adds a member for each instance of the module of a value.
func (t *callTracer) addMembers(v *reads.Value) {
	list, _ := t.keys.ModuleInstances(v.Module)
	b := block{value: v}
	for _, in := range list {
		t.members[b] = append(t.members[b], &member{in: in})
	}
}

// connectAll adds the references of the members of a block.
func (t *callTracer) connectAll(b block) {
	byInstance := map[*reads.Resource]bool{} // resources that instances.connect has already connected
	if b.value == nil {
		for _, read := range b.resource.ReadsByInstance() {
			byInstance[read.Of] = true
		}
	}
	wholes := map[pair][]*member{}
	for _, r := range t.refs(b) {
		p := pair{b, r.to}
		if b == r.to || r.to.value == nil && byInstance[r.to.resource] || r.to.value != nil && !t.traced[r.to] {
			continue
		}
		in := t.byModule(r.to)
		for _, m := range t.members[b] {
			to, known := t.find(t.scope(b, m), m, r, in)
			if !known {
				wholes[p] = append(wholes[p], m)
			} else if to != nil && to != m {
				t.add(p, m, to, r.call != nil && r.call == b.module() && b.value != nil && b.value.Kind == reads.Variable)
			}
		}
	}
	for p, list := range wholes {
		if t.exact[p] {
			t.whole[p] = append(t.whole[p], list...)
		}
	}
}

// byModule returns the members of a block by module instance.
func (t *callTracer) byModule(b block) map[addrs.ModuleInstance][]*member {
	out := map[addrs.ModuleInstance][]*member{}
	for _, m := range t.members[b] {
		out[m.in] = append(out[m.in], m)
	}
	return out
}

// scope returns where the references of a member of a block are followed.
func (t *callTracer) scope(b block, m *member) reads.Scope {
	if b.value != nil {
		return b.value.Scope(m.in, t.keys)
	}
	return b.resource.Scope(m.in, m.addr.Key, t.keys)
}

// find returns the member that m refers to with the reference r, or nil if it refers to none. from is the
// scope of m. It returns false if m refers to several members, or if the member can't be determined. The
// map in holds the members of the referenced block by module instance.
func (t *callTracer) find(from reads.Scope, m *member, r ref, in map[addrs.ModuleInstance][]*member) (*member, bool) {
	if t.removes(m) {
		return nil, false
	}
	at, key := from.In, addrs.NoKey
	of, keyed := r.byKey()
	if r.each {
		key = from.Key
	} else if keyed {
		keys, known := []addrs.InstanceKey(nil), false
		if r.refs.SelectsInstance(r.Reference) {
			of.Refs = lang.Instances{r.refs.Instance(r.Reference)}
			keys, known = from.Selected(of)
		}
		if !known || len(keys) == 0 {
			return nil, known
		}
		key = keys[0]
	}
	if r.call != nil {
		at = at.Child(r.call.Call.Name, key)
	} else if keyed {
		return t.at[r.to.resource.Addr.Resource.InInstance(at).Instance(key)], true
	}
	switch list := in[at]; len(list) {
	case 0:
		return nil, true
	case 1:
		return list[0], r.to.value != nil || t.traced[r.to]
	}
	return nil, false
}

// removes reports whether a member is an instance that the plan removes. The configuration then
// doesn't say what it depends on.
func (t *callTracer) removes(m *member) bool {
	return slices.ContainsFunc(m.changes, func(c *plans.InstanceChange) bool {
		return c.Action == plans.Delete || c.Action == plans.Forget
	})
}

// byKey returns the object of which r reads one instance. It returns false if r reads a call without keys, or
// something that isn't repeated.
func (r ref) byKey() (reads.KeyedRead, bool) {
	switch of := r.to.resource; {
	case r.call != nil:
		return reads.KeyedRead{Call: r.call}, r.call.Repetition.Repeats()
	case of != nil && of.Config != nil:
		return reads.KeyedRead{Of: of}, r.each || r.refs.SelectsInstance(r.Reference)
	}
	return reads.KeyedRead{}, false
}
