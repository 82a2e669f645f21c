package engine

import (
	"cmp"
	"slices"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// Dependencies by instance
//
// The instances that an object depends on are found by following what its place reads (reads.Places), through
// values, arguments and outputs of modules, and data sources, to the nearest managed instances. The keys of
// references are evaluated with the values that the walk has in each module instance. If a key is not known,
// everything that the reference could select is a dependency. The needs of a place are found once, so the cost
// is linear in places and reads.

// need is a part of a managed resource that something depends on: an instance, or all instances in, or within,
// a module instance.
type need struct {
	of  *reads.Resource
	in  addrs.ModuleInstance
	one bool
	key addrs.InstanceKey // only if one is set
}

// compare sorts needs by resource. A need comes after all needs that include it.
func (n need) compare(m need) int {
	return cmp.Or(cmp.Compare(n.of.Index, m.of.Index), cmp.Compare(n.in, m.in), wholeFirst(n, m), n.key.Compare(m.key))
}

func wholeFirst(n, m need) int {
	switch {
	case n.one == m.one:
		return 0
	case m.one:
		return -1
	}
	return 1
}

// includes reports whether m is a part of n.
func (n need) includes(m need) bool {
	return n == m || n.of == m.of && !n.one && n.in.Contains(m.in)
}

// several reports whether a need covers several instances of the resource's module, as far as the configuration
// says.
func (n need) several() bool { return n.in.Module() != n.of.Addr.Module }

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
			out = append(out, need{of: of, in: list[0].in})
		case n > maxSingleNeeds && !of.Module.ReadsSiblings():
			out = append(out, need{of: of})
		default:
			out = append(out, list[:n]...)
		}
		list = list[n:]
	}
	return slices.Clip(out)
}

// instanceNeeds finds what the places of values, blocks and module calls need, and keeps the results.
type instanceNeeds struct {
	e      *evaluator // reads values that are finished; it doesn't wait
	places *reads.Places
	mu     sync.Mutex // guards the maps
	known  map[reads.Place][]need
	stored map[reads.Place][]addrs.AbsInstance // for blocks whose instances all have the same needs
	// lost reports whether no object in the state before the walk has dependencies by instance.
	// Another program may then have written the state.
	lost func() bool
}

func newInstanceNeeds(e *evaluator) *instanceNeeds {
	own := *e
	own.hasSlot = true // the evaluation may be part of an operation
	if !e.applies() {
		own.unfinished = nil
	}
	return &instanceNeeds{e: &own, places: e.graph.Storing(knownKeys{&own}, e.op.Prior, e.op.Partial()),
		known: map[reads.Place][]need{}, stored: map[reads.Place][]addrs.AbsInstance{},
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
	active map[reads.Place]bool // the places that the search is visiting, as a safeguard against endless recursion
}

// ofBlock returns what the object of t needs. change is its planned change.
func (f *instanceNeeds) ofBlock(t *instance, change *plans.InstanceChange) []need {
	s := &needSearch{instanceNeeds: f}
	c := *t.c
	c.e = f.e
	p := reads.InstancePlace(t.r, t.addr.Module, t.addr.Key)
	list := s.needs(p, f.places.OfInstance(p, func(of reads.KeyedRead) ([]reads.KeyRead, bool) {
		if keys, recorded := reads.RecordedKeys(change.Reads, of); recorded {
			return keys, true
		}
		return c.keys().known(of, t.r.Config.Range)
	}))
	for in := t.in; in.parent != nil; in = in.parent {
		list = s.withCalls(list, reads.Place{Node: in.module.Expand, In: in.addr, Part: reads.OnePart})
	}
	return compact(list)
}

// needs returns what is needed to read some places from p. It leaves out what the module calls around p need,
// because everything in a module depends on that.
func (s *needSearch) needs(p reads.Place, list []reads.Read) []need {
	var out []need
	var calls []reads.Place // of which more than one instance may be read
	var one reads.Place     // an instance of a call; what is read in it follows, and begins in out at first
	first := 0
	endOne := func() {
		if one.Node != nil {
			out = append(out[:first], s.withCalls(slices.Clone(out[first:]), one)...)
		}
		one = reads.Place{}
	}
	for _, read := range list {
		q, r := read.Of, read.Of.Node.Resource
		if q.In != one.In {
			endOne()
		}
		switch {
		case r != nil && r.Config == nil: // no block refers to it, but the end of its module waits for it
		case r != nil && r.Addr.Resource.Mode == addrs.Managed && q.Part != reads.BaseParts:
			out = append(out, need{of: r, in: q.In, one: q.Part == reads.OnePart, key: q.Key})
		case q.Node == p.Node && r != nil && !r.Exprs.Repetition.Repeats(): // no other instance could share the result
			out = append(out, s.search(q)...)
		case q.Node.Call() == nil || q.Node == p.Node:
			out = append(out, s.find(q)...)
		case isAround(q, p):
		case q.Part == reads.OnePart:
			endOne()
			one, first = q, len(out)
		default:
			calls = append(calls, q)
		}
	}
	endOne()
	return s.withCalls(out, calls...)
}

// isAround reports whether p is in the module that the call of a place calls. Other instances of the call are
// not around it.
func isAround(call, p reads.Place) bool {
	return call.Node.Call().Path.Contains(p.Node.Module.Path) && (call.Part != reads.OnePart || call.In.Contains(p.In))
}

// find returns what is needed to read a place. It searches unless the result is known.
func (s *needSearch) find(p reads.Place) []need {
	s.mu.Lock()
	found, ok := s.known[p]
	s.mu.Unlock()
	if ok || s.active[p] {
		return found
	}
	if s.active == nil {
		s.active = map[reads.Place]bool{}
	}
	s.active[p] = true
	found = compact(s.search(p))
	if p.Part != reads.BaseParts { // that is a part of what each instance needs
		found = bound(found)
	}
	delete(s.active, p)
	s.mu.Lock()
	s.known[p] = found
	s.mu.Unlock()
	return found
}

// search searches for what is needed to read a place.
func (s *needSearch) search(p reads.Place) []need {
	if m := calledOrOwn(p); m.Parent != nil && p.In.Module() == m.Path && s.e.moduleAt(m, p.In) == nil {
		caller, _ := p.In.Parent()
		if _, known := s.e.within(m, caller); known {
			return nil // there is no such instance
		}
		p = reads.Place{Node: p.Node, In: caller}
	}
	list := s.needs(p, s.places.Reads(p))
	if p.Node.ClosesModule() {
		list = withoutInner(s.withCalls(list, reads.Place{Node: p.Node.Module.Expand, In: p.In}))
	}
	return list
}

// calledOrOwn returns the module that a place is in or, for an instance of a module call, the called module.
func calledOrOwn(p reads.Place) *reads.Module {
	if m := p.Node.Call(); m != nil && p.Part == reads.OnePart {
		return m
	}
	return p.Node.Module
}

// withoutInner removes the needs on which others in the list depend: waiting for the others is enough. What
// reads a module as a whole would otherwise need everything in it.
func withoutInner(list []need) []need {
	inner := map[addrs.ConfigResource]bool{}
	seen := map[*states.Dependencies]bool{}
	for _, n := range list {
		if deps := n.of.Recorded.Dependencies; !seen[deps] {
			seen[deps] = true
			for dep := range deps.All() {
				inner[dep] = true
			}
		}
	}
	return slices.DeleteFunc(list, func(n need) bool { return inner[n.of.Addr] })
}

// withCalls adds what module calls need to a list. If the list has a managed resource in the called module,
// withCalls removes the needs of the call instead. That resource implies them, because everything in a module
// waits for the needs of its call.
func (s *needSearch) withCalls(list []need, calls ...reads.Place) []need {
	needs, implied := make([][]need, len(calls)), make([]bool, len(calls))
	for i, call := range calls {
		needs[i] = s.find(call)
		implied[i] = len(needs[i]) > 0 && slices.ContainsFunc(list, func(n need) bool { return n.within(call) })
	}
	for i := range calls {
		if implied[i] {
			list = slices.DeleteFunc(list, func(n need) bool { return includes(needs[i], n) })
		}
	}
	for i := range calls {
		if !implied[i] {
			list = append(list, needs[i]...)
		}
	}
	return list
}

// within reports whether something that is needed is in a module that the call of a place calls.
func (n need) within(call reads.Place) bool {
	return call.Node.Call().Path.Contains(n.of.Addr.Module) && (call.In.Contains(n.in) || n.in.Contains(call.In))
}

// includes reports whether n is a part of one of the needs in a list that compact has returned.
func includes(list []need, n need) bool {
	has := func(n need) bool {
		_, found := slices.BinarySearchFunc(list, n, need.compare)
		return found
	}
	for at := n.in; ; at, _ = at.Parent() {
		if has(need{of: n.of, in: at}) {
			return true
		}
		if at.IsRoot() {
			return has(n)
		}
	}
}
