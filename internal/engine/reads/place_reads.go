package reads

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/plans"
)

// OfChange returns the places that an instance reads in an apply, where the plan has recorded the keys with
// its change.
func (s *Places) OfChange(r *Resource, change *plans.InstanceChange) []Read {
	p := InstancePlace(r, change.Addr.Module, change.Addr.Key)
	return s.OfInstance(p, func(of KeyedRead) ([]KeyRead, bool) {
		if keys, known := RecordedKeys(change.Reads, of); known || of.Via != nil && of.Call == nil {
			return keys, known
		}
		return s.early.Read(r, p.In, p.Key, of)
	})
}

// Reads returns the places that a place reads.
func (s *Places) Reads(p Place) []Read {
	r := p.Node.Resource
	v := p.Node.Value()
	switch {
	case r != nil && p.Part == OnePart:
		return s.OfInstance(p, func(of KeyedRead) ([]KeyRead, bool) { return s.early.Read(r, p.In, p.Key, of) })
	case p.Part == OnePart:
		return s.ofCall(p)
	case p.Part == BaseParts && r != nil:
		return s.Along(p, s.ReadByKey(r))
	case p.Part == BaseParts && v != nil:
		return s.ofAlias(p, v)
	case p.Part == BaseParts:
		return s.baseOfCall(p)
	case r != nil:
		return s.partsOfBlock(p)
	case v != nil:
		return s.ofValue(p, v)
	}
	return s.Along(p, nil)
}

// partsOfBlock splits a place with several instances of a resource into the places of these
// instances.
func (s *Places) partsOfBlock(p Place) []Read {
	if s.use == toStore && !s.decided(p) {
		return s.Along(p, nil)
	}
	var out []Read
	for _, in := range s.Within(p.Node.Resource.Module, p.In) {
		keys := s.Keys(p.Node.Resource, in)
		for _, key := range keys {
			out = append(out, Read{Of: InstancePlace(p.Node.Resource, in, key)})
		}
		if len(keys) == 0 {
			out = append(out, Read{Of: Place{Node: p.Node, In: in, Part: BaseParts}})
		}
	}
	return out
}

// decided reports whether a place is all of a resource in one module instance and its keys are known.
func (s *Places) decided(p Place) bool {
	if s.early == nil || !s.IsInstance(p.Node.Resource.Module, p.In) {
		return false
	}
	_, known := s.early.Instances(p.Node.Resource, p.In)
	return known
}

// OfInstance returns what an instance of a resource reads: first what all instances read, then what it reads
// by key. keys returns the keys with which it reads an object, and false if they are not known.
func (s *Places) OfInstance(p Place, keys func(KeyedRead) ([]KeyRead, bool)) []Read {
	r := p.Node.Resource
	byKey := s.ofBlock(r).list
	out := make([]Read, 1, 1+len(byKey))
	out[0].Of = Place{Node: p.Node, In: p.In, Part: BaseParts}
	for _, of := range byKey {
		list, known := keys(of)
		out = s.add(out, of, r.Module, p.In, list, known, s.refersAt(r, of.WholeNode()))
	}
	return out
}

// add adds the instances of an object with the given keys to list, or all instances if the keys are not
// known. Of a module call, it adds the outputs that are read. The reader is in the module m; in is its
// module instance. at is the range of the reference if the keys are not known.
func (s *Places) add(
	list []Read, of KeyedRead, m *Module, in addrs.ModuleInstance, keys []KeyRead, known bool, at *hcl.Range,
) []Read {
	switch {
	case !known:
		for _, n := range of.nodes() {
			list = append(list, Read{s.near(n, m, in), at})
		}
		return list
	case of.Call != nil:
		return s.addOutputs(list, of, in, keys)
	}
	list = append(list, aliasBase(of, in)...)
	from := of.In(m, in)
	keys, whole := s.selected(of.Of, from, keys)
	if whole {
		return append(list, Read{Of: Place{Node: of.Of.Node, In: from}})
	}
	for _, k := range keys {
		list = append(list, Read{InstancePlace(of.Of, from, k.Key), s.rangeOf(k)})
	}
	return list
}

// near returns the place of a node that a reader in the module m refers to. in is the reader's module instance.
func (s *Places) near(n *Node, m *Module, in addrs.ModuleInstance) Place {
	at := Outermost(in, SharedDepth(m, n.Module))
	if s.use == toStore {
		at = n.Module.onlyIn(at)
	}
	return Place{Node: n, In: at}
}

// onlyIn returns the only instance of the module in a given module instance. If a call between them may have
// several instances, it returns the module instance that contains these.
func (m *Module) onlyIn(at addrs.ModuleInstance) addrs.ModuleInstance {
	if m == nil || m.Parent == nil || at.Module() == m.Path {
		return at
	}
	above := m.Parent.onlyIn(at)
	if m.Single() && above.Module() == m.Parent.Path {
		return above.Child(m.Call.Name, addrs.NoKey)
	}
	return above
}

// nodes returns the nodes whose places a reader of all instances reads.
func (r KeyedRead) nodes() []*Node {
	if r.Call == nil || r.Via != nil {
		return []*Node{r.WholeNode()}
	}
	out := []*Node{r.Call.Expand}
	for _, v := range r.Outputs() {
		out = append(out, v.Node)
	}
	return out
}

// rangeOf returns the range of the reference that selects a key. It is needed only for messages about
// targets.
func (s *Places) rangeOf(k KeyRead) *hcl.Range {
	if s.use != toSelect {
		return nil
	}
	return &k.At
}

// isAll reports whether n instances are all of the many instances of a resource in a module instance.
// N readers that each wait for all of N instances one by one would cost N².
func isAll(early KnownKeys, r *Resource, in addrs.ModuleInstance, n int) bool {
	if n < ManyInstances {
		return false
	}
	all, known := early.Instances(r, in)
	return known && len(all) == n
}

// selected returns the keys that a reader selects of a resource in a module instance, or true if they count as
// the whole resource. An object depends only on instances that exist.
func (s *Places) selected(r *Resource, in addrs.ModuleInstance, keys []KeyRead) ([]KeyRead, bool) {
	if s.use == toStore {
		all, known := s.early.Instances(r, in)
		if !known {
			return nil, true
		}
		if !s.partial {
			keys = slices.DeleteFunc(keys, func(k KeyRead) bool { return !containsKey(all, k.Key) })
		}
	}
	return keys, s.use != toSelect && isAll(s.early, r, in, len(keys))
}

func containsKey(sorted []addrs.InstanceKey, key addrs.InstanceKey) bool {
	_, found := slices.BinarySearchFunc(sorted, key, addrs.InstanceKey.Compare)
	return found
}

// addOutputs adds the outputs of the module instances with the given keys to list.
func (s *Places) addOutputs(list []Read, of KeyedRead, in addrs.ModuleInstance, keys []KeyRead) []Read {
	for _, k := range keys {
		child := in.Child(of.Call.Call.Name, k.Key)
		if !s.IsInstance(of.Call, child) {
			continue
		}
		list = append(list, Read{Place{Node: of.Call.Expand, In: child, Part: OnePart}, s.rangeOf(k)})
		for _, v := range of.Outputs() {
			list = append(list, Read{Place{Node: v.Node, In: child}, s.rangeOf(k)})
		}
	}
	return list
}

// ofCall returns the places that decide whether one instance of a module call exists.
func (s *Places) ofCall(p Place) []Read {
	m := p.Node.Call()
	parent, step := p.In.Parent()
	each := s.eachOf(m)
	if step.Key == addrs.UnknownKey || each == nil || m.DependsOn != nil && each.NamedBy(m.Parent, m.DependsOn) {
		return []Read{{Of: Place{Node: p.Node, In: parent}}}
	}
	out := []Read{{Of: Place{Node: p.Node, In: parent, Part: BaseParts}}}
	for _, read := range each.Reads {
		out = s.add(out, read, m.Parent, parent, []KeyRead{{step.Key, m.Repetition.ForEach.Range()}}, true, nil)
	}
	return out
}

// baseOfCall returns the places that all instances of a module call need.
func (s *Places) baseOfCall(p Place) []Read {
	var apart map[*Node]bool
	if each := s.eachOf(p.Node.Call()); each != nil {
		apart = newReadByKey([]KeyedRead{each.KeyedRead}).nodes
	}
	return s.Along(p, apart)
}

// eachOf returns the object in the for_each of a module call that decides the call's instances, or nil.
func (s *Places) eachOf(m *Module) *Each {
	if s.use == toOrder {
		return m.Each
	}
	return kept(s, s.each, m, func() *Each {
		if read := m.Parent.chain(m.Repetition); read != nil {
			return read.each(m.eachUnits())
		}
		return nil
	})
}

// kept returns what find has found for a key. It calls find only if it is not in known yet.
func kept[K comparable, T any](s *Places, known map[K]T, key K, find func() T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, ok := known[key]
	if !ok {
		out = find()
		known[key] = out
	}
	return out
}

// ofAlias returns the places that all elements of an alias need. They include the base of another
// alias that it refers to, but not the elements of that alias or resource.
func (s *Places) ofAlias(p Place, v *Value) []Read {
	next := KeyedRead{Of: v.Alias.Of, Via: v.Alias.Next}
	return append(s.Along(p, map[*Node]bool{next.WholeNode(): true}), aliasBase(next, v.EvaluatedIn(p.In))...)
}

// aliasBase returns the place of the alias of a read, without its elements. It returns nil if the
// resource is read without an alias. from is the module instance of the reader.
func aliasBase(of KeyedRead, from addrs.ModuleInstance) []Read {
	switch {
	case of.Via == nil:
		return nil
	case of.Via.Kind == Output:
		from = from.Child(of.Via.Module.Call.Name, addrs.NoKey)
	}
	return []Read{{Of: Place{Node: of.Via.Node, In: from, Part: BaseParts}}}
}

// ofValue returns the places that a value reads in one instance of its module. If the place covers
// several module instances, it returns the places of the value in each of them.
func (s *Places) ofValue(p Place, v *Value) []Read {
	if !s.IsInstance(v.Module, p.In) {
		var out []Read
		if s.use != toStore {
			for _, in := range s.Within(v.Module, p.In) {
				out = append(out, Read{Of: Place{Node: p.Node, In: in}})
			}
		}
		if len(out) == 0 && s.use != toSelect { // objects that depend on the module record these dependencies
			return s.Along(p, nil)
		}
		return out
	}
	var at *hcl.Range
	if v.Expr != nil {
		rng := v.Expr.Range()
		at = &rng
	}
	var out []Read
	byKey := s.byValue(v)
	for _, of := range byKey.list {
		keys, known := s.ReadValue(v, p.In, of)
		out = s.add(out, of, v.EvaluatedBy(), v.EvaluatedIn(p.In), keys, known, at)
	}
	return append(out, s.Along(p, byKey.nodes)...)
}

// readByKey holds the reads of a block or value that are only by key.
type readByKey struct {
	list  []KeyedRead
	nodes map[*Node]bool // that the reader has edges to because of these reads; nil if there are none
}

func newReadByKey(list []KeyedRead) readByKey {
	out := readByKey{list: list}
	if len(list) > 0 {
		out.nodes = map[*Node]bool{}
	}
	for _, of := range list {
		out.nodes[of.WholeNode()] = true
		for _, n := range of.nodes() {
			out.nodes[n] = true
		}
	}
	return out
}

// byValue returns what a value reads only by key.
func (s *Places) byValue(v *Value) readByKey {
	var each *Each
	if v.Kind == Variable && v.Module.Parent != nil {
		each = s.eachOf(v.Module)
	}
	return kept(s, s.byKey, v.Node, func() readByKey {
		list, calls := v.instancesRead(each, s.usableByKey), v.CallReads
		if s.use != toOrder { // a walk evaluates the references through locals one by one
			calls = append(directReads(calls), v.callAliasReads()...)
		}
		out := newReadByKey(append(list, calls...))
		if v.Kind == Variable {
			delete(out.nodes, v.Module.Expand) // it is there if the instances of the call read each other
		}
		return out
	})
}

// ReadValue returns what [KnownKeys.ReadValue] does, and false without keys that are known early.
func (s *Places) ReadValue(v *Value, in addrs.ModuleInstance, of KeyedRead) ([]KeyRead, bool) {
	if s.early == nil {
		return nil, false
	}
	return s.early.ReadValue(v, in, of)
}

// Along returns what a node reads according to its edges, other than the nodes in except. An edge
// connects two nodes within one instance of the innermost module that contains both.
func (s *Places) Along(p Place, except map[*Node]bool) []Read {
	from, r := p.Node, p.Node.Resource
	if r != nil && s.use != toStore { // its references don't have the nodes of a plan that splits blocks
		from = r.Inputs
	}
	needs := s.refs.Needs(from.ID)
	out := make([]Read, 0, len(needs))
	for _, id := range needs {
		n := s.tree.Nodes[id]
		if n.Resource != nil {
			n = n.Resource.Node
		}
		if n == p.Node || except[n] {
			continue
		}
		var at *hcl.Range
		if r != nil {
			at = s.refersAt(r, n)
		}
		if in, inside := insideCall(p, n); inside {
			out = append(out, Read{Place{Node: n, In: in, Part: OnePart}, at})
			continue
		}
		out = append(out, Read{s.near(n, p.Node.Module, p.In), at})
	}
	return out
}

// insideCall returns, if n is a module call around a place, the instance of the called module that
// contains the place.
func insideCall(p Place, n *Node) (addrs.ModuleInstance, bool) {
	m := n.Call()
	if m == nil || p.Node.Module == nil || !m.Path.Contains(p.Node.Module.Path) {
		return "", false
	}
	depth := len(m.Path.Names())
	return Outermost(p.In, depth), len(p.In.Steps()) >= depth
}

// ReadByKey returns the nodes that a block reads only by key.
func (s *Places) ReadByKey(r *Resource) map[*Node]bool { return s.ofBlock(r).nodes }

// ReadsByKey reports whether a block reads anything only by key, so that its instances may read different things.
func (s *Places) ReadsByKey(r *Resource) bool { return len(s.ofBlock(r).list) > 0 }

// ofBlock returns what a block reads only by key, directly or through values.
func (s *Places) ofBlock(r *Resource) readByKey {
	if s.early == nil || r.Config == nil || s.planned != nil && len(r.ByKey) == 0 {
		return readByKey{}
	}
	return kept(s, s.byKey, r.Node, func() readByKey {
		out := newReadByKey(s.listByKey(r))
		if each := r.ChainedTo(); each != nil && each.Call != nil && out.nodes[each.Call.End] {
			// A reference to the whole call has edges to all outputs if its end depends on the reader.
			for _, v := range each.Call.Outputs {
				out.nodes[v.Node] = true
			}
		}
		return out
	})
}

// listByKey lists what a block reads only by key. The expressions of imports and of a provider's key may refer
// to the resources too, so for targets and the order of a walk, a block that has such expressions reads whole
// resources.
func (s *Places) listByKey(r *Resource) []KeyedRead {
	switch {
	case s.planned != nil:
		return r.ByKey
	case s.use != toStore && (r.ProviderKey != nil || len(s.tree.Imports[r]) > 0):
		return r.Calls()
	}
	return slices.Concat(r.ReadsByInstance(), r.readsVia(), directReads(r.Calls()))
}

// directReads returns a new list of the reads that go through no local.
func directReads(list []KeyedRead) []KeyedRead {
	return slices.DeleteFunc(slices.Clone(list), func(read KeyedRead) bool { return read.Via != nil })
}

// usableByKey reports whether a value may read single instances of a resource or alias.
func (s *Places) usableByKey(read KeyedRead) bool {
	switch {
	case s.use == toOrder && s.planned == nil:
		return s.singly && read.Of.Readable()
	case s.planned != nil && read.Via != nil && s.partial:
		return false
	}
	return read.Of.repeats()
}

// refersAt returns the range of the first reference from the block of r to n, the node of a resource,
// a value or a module call. It returns the range of the block if there is no such reference, and an
// empty range if r has no block.
func (s *Places) refersAt(r *Resource, n *Node) *hcl.Range {
	if r.Config == nil || s.use != toSelect {
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
				add(called.Expand, &ref.Range)
				add(called.End, &ref.Range)
			}
		}
	}
	return out
}
