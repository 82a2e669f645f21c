package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// Dependencies by instance
//
// The instances that an object depends on are found by following reads.Uses. The search goes from
// the object's block through values, arguments and outputs of modules, and data sources, to the
// nearest managed instances. In each module instance, the keys of references are evaluated with the
// values that the walk has there. If a key is not known, everything that the reference could select
// is a dependency. The needs of a value or a data source are found once per module instance, so the
// cost is linear in places and references.

// need is a part of a managed resource that something depends on.
type need struct {
	of    *reads.Resource
	scope needScope
	in    addrs.ModuleInstance
	key   addrs.InstanceKey // only for oneInstance
}

// needScope is the scope of a need: which instances of the resource are needed.
type needScope uint8

const (
	everywhere  needScope = iota // all instances in all instances of the module
	inOneModule                  // all instances in one module instance
	oneInstance
)

// compare sorts needs by resource. A need comes after all needs that include it.
func (n need) compare(m need) int {
	return cmp.Or(cmp.Compare(n.of.Index, m.of.Index), everywhereFirst(n, m), cmp.Compare(n.in, m.in),
		cmp.Compare(n.scope, m.scope), n.key.Compare(m.key))
}

func everywhereFirst(n, m need) int {
	return cmp.Compare(min(n.scope, inOneModule), min(m.scope, inOneModule))
}

// includes reports whether m is a part of n.
func (n need) includes(m need) bool {
	return n.of == m.of && (n.scope == everywhere || n.in == m.in && (n.scope == inOneModule || n.key == m.key))
}

// within reports whether n is limited to objects in a module instance and in the modules that it
// calls.
func (n need) within(in *moduleInstance) bool {
	if n.scope != everywhere {
		return in.addr.Contains(n.in)
	}
	return in.module.Path.Contains(n.of.Addr.Module)
}

// maxSingleNeeds is the number of instances of one resource up to which needs list single
// instances. Without a limit, n readers of a value that reads m single instances would depend on
// n·m instances.
const maxSingleNeeds = 32

// compact sorts needs and removes those that others include.
func compact(list []need) []need {
	slices.SortFunc(list, need.compare)
	out := list[:0]
	for _, n := range list {
		if len(out) == 0 || !out[len(out)-1].includes(n) {
			out = append(out, n)
		}
	}
	return slices.Clip(out)
}

// bound replaces the needs of many single instances of a resource by one need of all its instances.
// It keeps single instances in sibling instances of a module call, because all instances would
// include the reader itself.
func bound(list []need) []need {
	out := list[:0]
	for len(list) > 0 {
		n, of := 1, list[0].of
		for n < len(list) && list[n].of == of {
			n++
		}
		same := list[0].in == list[n-1].in
		switch {
		case n > maxSingleNeeds && same:
			out = append(out, need{of: of, scope: inOneModule, in: list[0].in})
		case n > maxSingleNeeds && !of.Module.ReadsSiblings():
			out = append(out, need{of: of})
		default:
			out = append(out, list[:n]...)
		}
		list = list[n:]
	}
	return slices.Clip(out)
}

// instanceNeeds finds what values, blocks and module calls need, and keeps the results.
type instanceNeeds struct {
	e      *evaluator // reads values that are finished; it doesn't wait
	mu     sync.Mutex // guards the maps
	known  map[needPlace][]need
	stored map[needPlace][]addrs.AbsInstance // for blocks whose instances all have the same needs
	// lost reports whether no object in the state before the walk has dependencies by instance.
	// Another program may then have written the state.
	lost func() bool
}

// needPlace is a value, an instance of a data source, or a module call in one module instance.
type needPlace struct {
	of  any // *reads.Value, *reads.Resource or *reads.Module
	in  *moduleInstance
	key addrs.InstanceKey
}

func newInstanceNeeds(e *evaluator) *instanceNeeds {
	own := *e
	own.hasSlot = true // the evaluation may be part of an operation
	if !e.applies() {
		own.unfinished = nil
	}
	return &instanceNeeds{e: &own, known: map[needPlace][]need{}, stored: map[needPlace][]addrs.AbsInstance{},
		lost: sync.OnceValue(func() bool { return !namesInstances(e.op.Prior) })}
}

// namesInstances reports whether any current object in a state has dependencies by instance.
func namesInstances(s *states.State) bool {
	for r := range s.Resources() {
		for _, inst := range r.Instances {
			if inst.Current != nil && len(inst.Current.DependencyInstances) > 0 {
				return true
			}
		}
	}
	return false
}

// needSearch is a search for the needs of one object.
type needSearch struct {
	*instanceNeeds
	active map[needPlace]bool // the places that the search is visiting, as a safeguard against endless recursion
}

// ofBlock returns what the object of t needs. change is its planned change.
func (f *instanceNeeds) ofBlock(t *instance, change *plans.InstanceChange) []need {
	s := &needSearch{instanceNeeds: f}
	c := *t.c
	c.e = f.e
	at := usedFrom{in: t.in, from: t.in, reads: change.Reads, context: func() *evalContext { return &c }}
	return compact(s.withCalls(c.ctx, s.uses(c.ctx, t.r.Uses, at), t.in))
}

// usedFrom describes something that uses values and instances, for evaluating the keys by which it
// selects them.
type usedFrom struct {
	in      *moduleInstance     // the module instance that it belongs to
	from    *moduleInstance     // the module instance in which its expressions are evaluated
	reads   instanceReads       // the instances that it reads, as far as they are known
	context func() *evalContext // the context of its expressions
}

// find returns what a place needs. It calls search unless the result is known.
func (s *needSearch) find(p needPlace, u *reads.Uses, search func() []need) []need {
	s.mu.Lock()
	found, ok := s.known[p]
	s.mu.Unlock()
	switch {
	case ok:
		return found
	case s.active[p]:
		return s.all(nil, u)
	}
	if s.active == nil {
		s.active = map[needPlace]bool{}
	}
	s.active[p] = true
	found = bound(compact(search()))
	delete(s.active, p)
	s.mu.Lock()
	s.known[p] = found
	s.mu.Unlock()
	return found
}

// all adds everything that u may use to a list.
func (s *needSearch) all(list []need, u *reads.Uses) []need {
	for _, of := range u.All(&s.e.graph.Tree) {
		list = append(list, need{of: of})
	}
	return list
}

// value returns what a value needs in one instance of its module. Like the functions below, it
// leaves out what the module call needs, because everything in the module depends on that.
func (s *needSearch) value(ctx context.Context, v *reads.Value, in *moduleInstance) []need {
	if v.Uses == nil {
		return nil
	}
	return s.find(needPlace{of: v, in: in}, v.Uses, func() []need {
		at := usedFrom{in: in, from: in, context: func() *evalContext { return s.e.newContext(ctx, in, repetition{}) }}
		if v.Kind == reads.Variable && in.parent != nil {
			at.from = in.parent
			at.context = func() *evalContext {
				return s.e.argumentContext(ctx, v, in)
			}
		}
		return s.uses(ctx, v.Uses, at)
	})
}

// withCalls adds what the call of a module instance and the calls around it need to a list.
func (s *needSearch) withCalls(ctx context.Context, list []need, in *moduleInstance) []need {
	for ; in.parent != nil; in = in.parent {
		list = s.withCall(ctx, list, in)
	}
	return list
}

// withCall adds what the call of a module instance needs to a list. If list has a managed resource
// in that instance, withCall removes the needs of the call instead. That resource implies them,
// because everything in a module waits for the needs of its call.
func (s *needSearch) withCall(ctx context.Context, list []need, in *moduleInstance) []need {
	call := s.call(ctx, in)
	switch {
	case len(call) == 0:
		return list
	case slices.ContainsFunc(list, func(n need) bool { return n.within(in) }):
		return slices.DeleteFunc(list, func(n need) bool { return includes(call, n) })
	}
	return append(list, call...)
}

// includes reports whether n is a part of one of the needs in a list that compact has returned.
func includes(list []need, n need) bool {
	for _, larger := range [...]need{{of: n.of}, {of: n.of, scope: inOneModule, in: n.in}, n} {
		at, found := slices.BinarySearchFunc(list, larger, need.compare)
		if found && list[at].includes(n) {
			return true
		}
	}
	return false
}

// call returns what the call of a module instance needs, without the calls around it.
func (s *needSearch) call(ctx context.Context, in *moduleInstance) []need {
	m := in.module
	if m.Uses == nil {
		return nil
	}
	return s.find(needPlace{of: m, in: in}, m.Uses, func() []need {
		return s.uses(ctx, m.Uses, usedFrom{in: in.parent, from: in.parent,
			context: func() *evalContext { return s.e.newContext(ctx, in.parent, in.rep) }})
	})
}

// uses returns what is needed by something that uses u.
func (s *needSearch) uses(ctx context.Context, u *reads.Uses, at usedFrom) []need {
	if u == nil {
		return nil
	}
	var out []need
	for _, v := range u.Values {
		switch in := at.place(s.e, v.Module); {
		case in == nil:
			out = s.all(out, v.Uses)
		case in.parent == at.from && in != at.in:
			out = append(out, s.output(ctx, v, in)...)
		default:
			out = append(out, s.value(ctx, v, in)...)
		}
	}
	for _, read := range u.Reads {
		if read.Call != nil {
			out = append(out, s.outputs(ctx, read, at)...)
		} else {
			out = append(out, s.resource(ctx, read, at)...)
		}
	}
	for _, of := range u.Whole {
		out = append(out, need{of: of})
	}
	return out
}

// place returns the instance of the module m that is used, or nil if it isn't a single instance.
func (u usedFrom) place(e *evaluator, m *reads.Module) *moduleInstance {
	switch m {
	case u.in.module:
		return u.in
	case u.from.module:
		return u.from
	}
	if m.Parent != u.from.module {
		return nil
	}
	if calls := e.callsOf(m, u.from); calls != nil && len(calls.of) == 1 {
		return calls.of[0]
	}
	return nil
}

// resource returns what is needed by reading instances of a resource: for a managed resource, these
// instances; for other resources, what these instances depend on.
func (s *needSearch) resource(ctx context.Context, read reads.KeyedRead, at usedFrom) []need {
	of, managed := read.Of, read.Of.Addr.Resource.Mode == addrs.Managed
	in := at.from
	if read.Via != nil {
		in = s.e.moduleAt(of.Module, read.In(in.module, in.addr))
	}
	if in == nil {
		return []need{{of: of}}
	}
	x := s.e.expansionOf(of, in)
	keys, known := s.keys(read, x, at)
	var out []need
	switch {
	case managed && known:
		for _, key := range keys {
			out = append(out, need{of, oneInstance, in.addr, key})
		}
	case managed:
		out = append(out, need{of: of, scope: inOneModule, in: in.addr})
	case x == nil || x.mode == repeatUnknown:
		out = s.all(out, of.Uses)
	case known:
		for _, key := range keys {
			if i, exists := x.has(key); exists {
				out = append(out, s.data(ctx, of, in, x, i)...)
			}
		}
	default:
		return s.find(needPlace{of: of, in: in, key: addrs.NoKey}, of.Uses, func() []need {
			for i := range x.keys {
				out = append(out, s.data(ctx, of, in, x, i)...)
			}
			return out
		})
	}
	return out
}

// keys returns the keys of the instances that are read, or false if they are not known or all
// instances are needed.
func (s *needSearch) keys(read reads.KeyedRead, x *expansion, at usedFrom) ([]addrs.InstanceKey, bool) {
	if read.Refs == nil || x == nil || x.mode == repeatUnknown {
		return nil, false
	}
	if keys, recorded := plans.KeysRead(at.reads, read.Name()); recorded {
		return keys, true
	}
	c := at.context()
	if c.in != at.from {
		return nil, false
	}
	keys, err := c.keys().keysRead(read)
	return keys, err == nil && !selectsAll(len(keys), &x.expandedKeys)
}

// data returns what an instance of a data source or an ephemeral resource depends on.
func (s *needSearch) data(ctx context.Context, r *reads.Resource, in *moduleInstance, x *expansion, i int) []need {
	key := x.keys[i]
	if key == addrs.NoKey {
		return s.instanceOfData(ctx, r, in, x, i)
	}
	return s.find(needPlace{of: r, in: in, key: key}, r.Uses, func() []need {
		return s.instanceOfData(ctx, r, in, x, i)
	})
}

func (s *needSearch) instanceOfData(
	ctx context.Context, r *reads.Resource, in *moduleInstance, x *expansion, i int,
) []need {
	at := usedFrom{in: in, from: in, context: func() *evalContext {
		c := s.e.newContext(ctx, in, x.repetition(i))
		if r.Each != nil && r.Each.Call == nil && x.mode == repeatForEach && x.each == nil {
			c.setEachValue(r.Each, x.keys[i])
		}
		return c
	}}
	return s.uses(ctx, r.Uses, at)
}

// outputs returns what is needed by something that reads outputs of single instances of a module
// call.
func (s *needSearch) outputs(ctx context.Context, read reads.KeyedRead, at usedFrom) []need {
	var out []need
	var keys []addrs.InstanceKey
	calls := s.e.callsOf(read.Call, at.from)
	known := calls != nil && calls.mode != repeatUnknown
	if known {
		var err error
		keys, err = at.context().keys().keysRead(read)
		known = err == nil
	}
	for _, output := range read.Outputs() {
		if !known {
			out = s.all(out, output.Uses)
			continue
		}
		for _, key := range keys {
			if i, exists := calls.find(key); exists {
				out = append(out, s.output(ctx, output, calls.of[i])...)
			}
		}
	}
	return out
}

// output returns what an output of a module instance needs in the calling module.
func (s *needSearch) output(ctx context.Context, v *reads.Value, in *moduleInstance) []need {
	return s.withCall(ctx, slices.Clone(s.value(ctx, v, in)), in)
}
