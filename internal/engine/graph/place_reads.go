package graph

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/lang"
)

// of returns the places that a place reads.
func (s *placeReads) of(p place) []read {
	r := p.n.Resource
	v, isValue := p.n.Object.(*Value)
	switch {
	case r != nil && p.part == onePart:
		return s.ofInstance(p)
	case p.part == onePart:
		return s.ofCall(p)
	case p.part == baseParts && r != nil:
		return s.along(p, s.readByKey(r))
	case p.part == baseParts && isValue:
		return s.ofAlias(p, v)
	case p.part == baseParts:
		return s.baseOfCall(p)
	case r != nil:
		return s.partsOfBlock(p)
	case isValue:
		return s.ofValue(p, v)
	}
	return s.along(p, nil)
}

// partsOfBlock splits a place with several instances of a resource into the places of these
// instances.
func (s *placeReads) partsOfBlock(p place) []read {
	var out []read
	for _, in := range s.within(p.n.Resource.Module, p.in) {
		keys := s.keys(p.n.Resource, in)
		for _, key := range keys {
			out = append(out, read{of: instancePlace(p.n.Resource, in, key)})
		}
		if len(keys) == 0 {
			out = append(out, read{of: place{n: p.n, in: in, part: baseParts}})
		}
	}
	return out
}

// ofInstance returns what an instance of a resource reads.
func (s *placeReads) ofInstance(p place) []read {
	r := p.n.Resource
	out := []read{{of: place{n: p.n, in: p.in, part: baseParts}}}
	for _, of := range s.indexed(r) {
		keys, known := s.readInstances(r, p, of)
		out = s.addInstances(out, of, r.Module, p.in, keys, known, s.refersAt(r, of.whole()))
	}
	if s.early == nil {
		return out
	}
	for _, of := range s.callReads(r) {
		keys, known := s.early.Read(r, p.in, p.key, of.keyed())
		out = s.addOutputs(out, of, p.in, keys, known, s.refersAt(r, of.whole()))
	}
	return out
}

// readInstances returns the keys with which an instance reads a resource or an alias. It returns
// false if they are not known.
func (s *placeReads) readInstances(r *Resource, p place, of IndexedRead) ([]KeyRead, bool) {
	if s.steps != nil {
		if keys, known := s.steps.recorded(of); known || of.Via != nil {
			return keys, known
		}
	}
	return s.early.Read(r, p.in, p.key, of.keyed())
}

// addInstances adds the instances of a resource with the given keys to list, or all instances if
// the keys are not known. The reader is in the module m; in is its module instance. at is the range
// of the reference if the keys are not known.
func (s *placeReads) addInstances(
	list []read, of IndexedRead, m *Module, in addrs.ModuleInstance, keys []KeyRead, known bool, at *hcl.Range,
) []read {
	if !known {
		return append(list, read{place{n: of.whole(), in: outermost(in, sharedDepth(m, of.whole().Module))}, at})
	}
	list = append(list, aliasBase(of, in)...)
	if at := of.In(m, in); s.orders && s.isAll(of.Of, at, len(keys)) {
		return append(list, read{of: place{n: of.Of.Node, in: at}})
	}
	for _, k := range keys {
		list = append(list, read{instancePlace(of.Of, of.In(m, in), k.Key), s.rangeOf(k)})
	}
	return list
}

// rangeOf returns the range of the reference that selects a key. It is needed only for messages about
// targets.
func (s *placeReads) rangeOf(k KeyRead) *hcl.Range {
	if s.orders {
		return nil
	}
	return &k.At
}

// isAll reports whether n instances are all of the many instances of a resource in a module instance.
// N readers that each wait for all of N instances one by one would cost N².
func (s *placeReads) isAll(r *Resource, in addrs.ModuleInstance, n int) bool {
	if n < manyInstances {
		return false
	}
	all, known := s.early.Instances(r, in)
	return known && len(all) == n
}

// addOutputs adds the outputs of the module instances with the given keys to list, or those of all
// instances if the keys are not known.
func (s *placeReads) addOutputs(
	list []read, of CallRead, in addrs.ModuleInstance, keys []KeyRead, known bool, at *hcl.Range,
) []read {
	if !known && of.Via != nil {
		return append(list, read{place{n: of.Via.Node, in: in}, at})
	}
	if !known {
		list = append(list, read{place{n: of.Call.expand, in: in}, at})
		for _, v := range of.Outputs() {
			list = append(list, read{place{n: v.Node, in: in}, at})
		}
		return list
	}
	for _, k := range keys {
		child := in.Child(of.Call.Call.Name, k.Key)
		if !s.isInstance(of.Call, child) {
			continue
		}
		list = append(list, read{place{n: of.Call.expand, in: child, part: onePart}, s.rangeOf(k)})
		for _, v := range of.Outputs() {
			list = append(list, read{place{n: v.Node, in: child}, s.rangeOf(k)})
		}
	}
	return list
}

// ofCall returns the places that decide whether one instance of a module call exists.
func (s *placeReads) ofCall(p place) []read {
	m := p.n.Object.(*Module)
	parent, step := p.in.Parent()
	of, reads := s.chainedTo(m), s.chainedReads(m)
	base := []read{{of: place{n: p.n, in: parent, part: baseParts}}}
	key := func() []KeyRead { return []KeyRead{{step.Key, m.Repetition.ForEach.Range()}} }
	switch {
	case step.Key == addrs.UnknownKey:
	case of != nil && (m.DependsOn == nil || !m.DependsOn.Name(of.Of.Addr.Resource)):
		return s.addInstances(base, *of, m.Parent, parent, key(), true, nil)
	case len(reads) > 0 && (m.DependsOn == nil || !m.DependsOn.NameCall(reads[0].Call.Call.Name)):
		for _, read := range reads {
			base = s.addOutputs(base, read, parent, key(), true, nil)
		}
		return base
	}
	return []read{{of: place{n: p.n, in: parent}}}
}

// baseOfCall returns the places that all instances of a module call need. The for_each of the call is
// a resource, an alias or another call.
func (s *placeReads) baseOfCall(p place) []read {
	m := p.n.Object.(*Module)
	if of := s.chainedTo(m); of != nil {
		return s.along(p, map[*Node]bool{of.whole(): true})
	}
	apart := map[*Node]bool{}
	for _, read := range s.chainedReads(m) {
		addCallNodes(apart, read)
		if read.Via == nil {
			addOutputNodes(apart, read.Call)
		}
	}
	return s.along(p, apart)
}

// chainedTo returns the resource or alias in the for_each of a module call that decides the call's
// instances, or nil.
func (s *placeReads) chainedTo(m *Module) *IndexedRead {
	if s.orders {
		return m.EachOf
	}
	return m.ChainedTo()
}

// chainedReads returns what the arguments of a module call read with each.value; see eachReads.
func (s *placeReads) chainedReads(m *Module) []CallRead {
	out, known := s.chained[m]
	switch {
	case known:
	case s.orders && m.EachCall == nil:
		return nil
	default:
		out = m.Parent.eachReads(m.Repetition, m.eachUnits())
		s.chained[m] = out
	}
	return out
}

// ofAlias returns the places that all elements of an alias need. They include the base of another
// alias that it refers to, but not the elements of that alias or resource.
func (s *placeReads) ofAlias(p place, v *Value) []read {
	next := IndexedRead{Of: v.Alias.Of, Via: v.Alias.Next}
	return append(s.along(p, map[*Node]bool{next.whole(): true}), aliasBase(next, v.evaluatedIn(p.in))...)
}

// aliasBase returns the place of the alias of a read, without its elements. It returns nil if the
// resource is read without an alias. from is the module instance of the reader.
func aliasBase(of IndexedRead, from addrs.ModuleInstance) []read {
	switch {
	case of.Via == nil:
		return nil
	case of.Via.Kind == Output:
		from = from.Child(of.Via.Module.Call.Name, addrs.NoKey)
	}
	return []read{{of: place{n: of.Via.Node, in: from, part: baseParts}}}
}

// ofValue returns the places that a value reads in one instance of its module. If the place covers
// several module instances, it returns the places of the value in each of them.
func (s *placeReads) ofValue(p place, v *Value) []read {
	var out []read
	if !s.isInstance(v.Module, p.in) {
		for _, in := range s.within(v.Module, p.in) {
			out = append(out, read{of: place{n: p.n, in: in}})
		}
		if len(out) == 0 && s.orders { // objects that depend on the module record these dependencies
			return s.along(p, nil)
		}
		return out
	}
	from := v.evaluatedIn(p.in)
	var apart map[*Node]bool
	var at *hcl.Range
	if v.Expr != nil {
		rng := v.Expr.Range()
		at = &rng
	}
	var chained *IndexedRead
	if v.Kind == Variable {
		chained = s.chainedTo(v.Module)
	}
	byKey, calls := v.instancesRead(chained, s.usableByKey), v.CallReads
	if !s.orders { // a walk evaluates the references through locals one by one
		calls = append(directReads(calls), v.callAliasReads()...)
	}
	if len(byKey)+len(calls) > 0 {
		apart = map[*Node]bool{}
	}
	for _, of := range byKey {
		keys, known := s.readValue(v, p.in, of.keyed())
		out = s.addInstances(out, of, v.evaluatedBy(), from, keys, known, at)
		apart[of.whole()] = true
	}
	for _, of := range calls {
		keys, known := s.readValue(v, p.in, of.keyed())
		out = s.addOutputs(out, of, from, keys, known, at)
		addCallNodes(apart, of)
	}
	if v.Kind == Variable {
		delete(apart, v.Module.expand) // it is in apart if the instances of the call read each other
	}
	return append(out, s.along(p, apart)...)
}

func (s *placeReads) readValue(v *Value, in addrs.ModuleInstance, of Keyed) ([]KeyRead, bool) {
	if s.early == nil {
		return nil, false
	}
	return s.early.ReadValue(v, in, of)
}

// along returns what a node reads according to its edges, other than the nodes in except. An edge
// connects two nodes within one instance of the innermost module that contains both.
func (s *placeReads) along(p place, except map[*Node]bool) []read {
	from, r := p.n, p.n.Resource
	if r != nil {
		from = r.Inputs
	}
	needs := s.refs().Needs(from.ID)
	out := make([]read, 0, len(needs))
	for _, id := range needs {
		n := s.g.Nodes[id]
		if n.Resource != nil {
			n = n.Resource.Node
		}
		if n == p.n || except[n] {
			continue
		}
		var at *hcl.Range
		if r != nil {
			at = s.refersAt(r, n)
		}
		if in, inside := insideCall(p, n); inside {
			out = append(out, read{place{n: n, in: in, part: onePart}, at})
			continue
		}
		out = append(out, read{place{n: n, in: outermost(p.in, sharedDepth(p.n.Module, n.Module))}, at})
	}
	return out
}

// insideCall returns, if n is a module call around a place, the instance of the called module that
// contains the place.
func insideCall(p place, n *Node) (addrs.ModuleInstance, bool) {
	m, ok := n.Object.(*Module)
	if !ok || n.Kind != KindModule || p.n.Module == nil || !m.Path.Contains(p.n.Module.Path) {
		return "", false
	}
	depth := len(m.Path.Names())
	return outermost(p.in, depth), len(p.in.Steps()) >= depth
}

// readByKey returns the nodes that a block reads only by key.
func (s *placeReads) readByKey(r *Resource) map[*Node]bool {
	if found := s.apart[r.Node]; found != nil || len(s.indexed(r))+len(s.callReads(r)) == 0 {
		return found
	}
	out := map[*Node]bool{}
	for _, of := range s.indexed(r) {
		out[of.whole()] = true
	}
	if s.early != nil {
		for _, of := range s.callReads(r) {
			addCallNodes(out, of)
		}
		if call := r.ChainedCall(); call != nil && out[call.end] {
			addOutputNodes(out, call)
		}
	}
	s.apart[r.Node] = out
	return out
}

// addCallNodes adds the nodes of a module call that a reader of single instances has edges to. It
// adds them to the given set.
func addCallNodes(set map[*Node]bool, of CallRead) {
	if of.Via != nil {
		set[of.Via.Node] = true
		return
	}
	set[of.Call.expand], set[of.Call.end] = true, true
	for _, v := range of.Outputs() {
		set[v.Node] = true
	}
}

// addOutputNodes adds to set the nodes of all outputs of a module call. A reference to the whole call
// has edges to them if its end depends on the reader.
func addOutputNodes(set map[*Node]bool, call *Module) {
	for _, v := range call.Outputs {
		set[v.Node] = true
	}
}

// indexed returns the resources that a block reads only by key, directly or through aliases. The
// expressions of imports and of a provider's key may refer to the resources too, so a block that has
// such expressions reads whole resources.
func (s *placeReads) indexed(r *Resource) []IndexedRead {
	switch {
	case s.early == nil || r.Config == nil:
		return nil
	case s.steps != nil:
		return r.ByKey
	case r.ProviderKey != nil || len(s.g.Imports[r]) > 0:
		return nil
	}
	out, known := s.byKey[r]
	if !known {
		out = append(r.ReadsByInstance(), r.aliasesRead()...)
		s.byKey[r] = out
	}
	return out
}

// callReads returns the single instances of module calls that a block reads, directly or through locals.
func (s *placeReads) callReads(r *Resource) []CallRead {
	if r.Config == nil || r.ProviderKey != nil || len(s.g.Imports[r]) > 0 || s.steps != nil {
		return r.CallReads
	}
	out, known := s.calls[r]
	if !known {
		out = append(directReads(r.CallReads), r.callAliasReads()...)
		s.calls[r] = out
	}
	return out
}

// directReads returns a new list of the reads that go through no local.
func directReads(list []CallRead) []CallRead {
	return slices.DeleteFunc(slices.Clone(list), func(read CallRead) bool { return read.Via != nil })
}

// whole returns the node that a reader of all instances has an edge to.
func (r CallRead) whole() *Node {
	if r.Via != nil {
		return r.Via.Node
	}
	return r.Call.end
}

// usableByKey reports whether a value may read single instances of a resource or alias.
func (s *placeReads) usableByKey(read IndexedRead) bool {
	of := read.Of
	switch {
	case s.orders && s.steps == nil && (!s.singly || of.Schema == nil || of.Node.Dropped || len(of.Node.Problems) > 0),
		s.steps != nil && read.Via != nil && s.op.Partial():
		return false
	}
	return of.Config != nil && of.Config.Check == nil && of.Exprs.Repetition.Repeats()
}

// refersAt returns the range of the first reference from the block of r to n, the node of a resource,
// a value or a module call. It returns the range of the block if there is no such reference, and an
// empty range if r has no block.
func (s *placeReads) refersAt(r *Resource, n *Node) *hcl.Range {
	if r.Config == nil || s.orders {
		return nil
	}
	if s.ranges[r] == nil {
		s.ranges[r] = r.references()
	}
	if at, ok := s.ranges[r][n]; ok {
		return at
	}
	return &r.Config.Range
}

// references returns the first reference of a block to each node.
func (r *Resource) references() map[*Node]*hcl.Range {
	out := map[*Node]*hcl.Range{}
	add := func(n *Node, at *hcl.Range) {
		if _, known := out[n]; !known {
			out[n] = at
		}
	}
	for refs := range r.Exprs.References() {
		for _, ref := range refs.Objects {
			if of := r.Module.ResourceOf(ref.Subject); of != nil {
				add(of.Node, &ref.Range)
			}
			add(r.Module.NodeOf(ref.Subject), &ref.Range)
			if call, _, ok := lang.ModuleSubject(ref.Subject); ok && r.Module.Calls[call.Name] != nil {
				called := r.Module.Calls[call.Name]
				add(called.expand, &ref.Range)
				add(called.end, &ref.Range)
			}
		}
	}
	return out
}
