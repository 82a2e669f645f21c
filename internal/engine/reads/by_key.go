package reads

import (
	"iter"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/engine/phase"
	"tofu/internal/lang"
)

// What a block reads only by key
//
// The instances of a block may read single instances of a resource or module call, as in a[each.key].
// If the block reads the object in no other way, each of its instances waits for those that it reads,
// not for the whole object. Expressions such as count are evaluated once for all instances, by the node
// of the block, which waits for whole objects. So what they read is not read only by key.

// keyedReads finds what one block reads only by key.
type keyedReads struct {
	Run
	r       *Resource
	imports []*Import
}

// set finds what the instances of a block read only by key. It sets Whole in the reads for which they wait
// for the whole object in this run anyway.
func (s keyedReads) set() {
	r := s.r
	r.setOwn()
	own := r.Exprs.ownInstances(r.Addr.Resource)
	each := r.FindEach()
	for _, read := range slices.Concat(r.resourcesRead(s.Phase.Applies()), s.aliasesByKey(), s.callsByKey()) {
		isCall := read.Call != nil
		chained := each != nil && (each.same(read) || isCall && read.Call == each.Call)
		names := func(refs *lang.Refs) bool { return read.NamedBy(r.Module, refs) }
		orders := func(own lang.InstanceRef) bool { return chained || own.DependsOn(names) }
		switch {
		case s.readsOnce(chained, names):
			continue
		case isCall && r.Exprs.DependsOn != nil && names(r.Exprs.DependsOn):
			continue
		case !isCall && (slices.ContainsFunc(own, orders) || chained && !s.waitsForEach()):
			continue
		}
		read.Whole = s.readsWhole(read, chained)
		if chained && !read.Whole && (!isCall || s.Phase == phase.Apply && read.ByEach()) {
			r.Each = each
		}
		r.ByKey = append(r.ByKey, read)
	}
}

// waitsForEach reports whether the instances of a block with for_each = OBJECT may wait for the instances of
// the object in this run. In a partial run, the block's instances are those that exist at the end of the
// run.
func (s keyedReads) waitsForEach() bool {
	return !s.Partial && (s.Phase == phase.Plan || s.Phase == phase.Apply && s.r.Config.Check == nil)
}

// setOwn records the references of a block to instances of its own resource.
func (r *Resource) setOwn() {
	if own := r.Exprs.ownInstances(r.Addr.Resource); len(own) > 0 && r.Exprs.Repetition.Repeats() {
		r.ByKey = append(r.ByKey, KeyedRead{Of: r, Refs: own})
	}
}

// readsOnce reports whether an expression that is evaluated once for all instances of a block refers to an
// object. names reports whether references name the object. The for_each doesn't count if it is only
// the object.
func (s keyedReads) readsOnce(isForEach bool, names func(*lang.Refs) bool) bool {
	for refs := range s.r.readOnce(s.imports) {
		if names(refs) && !(isForEach && refs == &s.r.Exprs.Repetition.ForEach.Refs) {
			return true
		}
	}
	return false
}

// readsWhole reports whether the instances of a block wait for all of an object in a plan, although they
// read it only by key. chained reports whether it is the block's for_each. For a module call, package graph
// decides it later, when it has found the instances of the call.
func (s keyedReads) readsWhole(read KeyedRead, chained bool) bool {
	if s.Phase != phase.Plan {
		return false
	}
	managed := s.r.Addr.Resource.Mode == addrs.Managed
	switch {
	case read.Call != nil, !s.ByInstance, s.Partial, s.r.Config.Check != nil:
		return true
	case !managed && read.Of.Addr.Resource.Mode == addrs.Managed: // it also depends on whether any instance changes
		return true
	}
	return chained && read.Via == nil && read.Of.Schema.Block.ContainsDeprecated() // a warning about the whole for_each
}

// ReadsByInstance returns the resources of the module that a block reads only by instance, each
// with the references that select the instances. If the block reads other instances of its own
// resource, that resource comes first.
func (r *Resource) ReadsByInstance() []KeyedRead {
	if r.Config == nil {
		return nil
	}
	var out []KeyedRead
	if own := r.Exprs.ownInstances(r.Addr.Resource); len(own) > 0 {
		out = append(out, KeyedRead{Of: r, Refs: own})
	}
	return append(out, r.resourcesRead(false)...)
}

// resourcesRead returns the other resources of the module that a block reads only by instance. If single
// is false, a key in depends_on means the whole resource.
func (r *Resource) resourcesRead(single bool) []KeyedRead {
	var out []KeyedRead
	order, refs := r.Exprs.instancesRead(single)
	chain, chained := r.Exprs.Repetition.chainedTo()
	for _, addr := range order {
		of := r.Module.Resources[addr]
		switch {
		case of == nil, of == r, of.Config == nil, of.Config.Check != nil, !of.Exprs.Repetition.Repeats():
		case chained && chain == addr && of.Exprs.Repetition.ForEach == nil:
		default:
			out = append(out, KeyedRead{Of: of, Refs: refs[addr]})
		}
	}
	return out
}

// aliasesByKey returns the aliases that a block reads only by key, other than those of its own
// resource. It returns nil if this run reads no aliases by key.
func (s keyedReads) aliasesByKey() []KeyedRead {
	if len(s.r.Module.aliases) == 0 || s.r.Config.Check != nil {
		return nil
	}
	return slices.DeleteFunc(s.r.readsVia(), func(read KeyedRead) bool { return read.isCall() || read.Of == s.r })
}

// callsByKey returns the module calls that a block reads only by key, with the outputs that it reads.
func (s keyedReads) callsByKey() []KeyedRead {
	each := s.r.FindEach()
	if each != nil && (each.Call == nil ||
		each.Via != nil && (!s.awaitsVia() || s.r.Exprs.ownInstances(s.r.Addr.Resource) != nil)) {
		each = nil
	}
	list := s.readsByCallAlias(s.r)
	if !s.r.Exprs.ReadsCalls && each == nil && list == nil || s.r.Config.Check != nil {
		return nil
	}
	whole := map[*Module]bool{}
	var eachOf *lang.Refs // set if for_each is only a module call, or a local that is one
	if each != nil {
		list, eachOf = append(list, each.Reads...), &s.r.Exprs.Repetition.ForEach.Refs
	}
	for unit := range s.r.Exprs.Units() {
		if unit == eachOf {
			continue
		}
		list = s.r.Module.addCallReads(list, unit)
		for _, ref := range unit.Objects {
			if call, _, ok := lang.ModuleSubject(ref.Subject); ok {
				if _, only := unit.CallInstances(call.Name); !only {
					whole[s.r.Module.Calls[call.Name]] = true
				}
			}
			if each != nil && each.Via != nil && ref.Subject == (addrs.LocalValue{Name: each.Via.Name}) {
				whole[each.Call] = true
			}
		}
	}
	return slices.DeleteFunc(list, func(read KeyedRead) bool { return whole[read.Call] })
}

// Recorded reports whether a plan records which instances of a resource a block reads. An apply evaluates
// constant keys and those of module calls again.
func (r KeyedRead) Recorded(by *Resource) bool {
	return r.Call == nil && (r.Via != nil || r.Of == by || r.Refs.Computed())
}

// Singly returns what the instances of a block read only by key, other than instances of the same
// resource, if they don't wait for the whole object.
func (r *Resource) Singly() iter.Seq[KeyedRead] {
	return func(yield func(KeyedRead) bool) {
		for _, read := range r.ByKey {
			if !read.Whole && read.Of != r && !yield(read) {
				return
			}
		}
	}
}

// Calls returns the module calls that a block reads only by key, a part of ByKey.
func (r *Resource) Calls() []KeyedRead {
	for i, read := range r.ByKey {
		if read.Call != nil {
			return r.ByKey[i:]
		}
	}
	return nil
}

// WaitsFor reports whether the instances of a block wait for single instances of what a node completes:
// a resource, a value or a module call. It returns false if r is nil.
func (r *Resource) WaitsFor(n *Node) bool {
	return r != nil && slices.ContainsFunc(r.ByKey, func(read KeyedRead) bool {
		return !read.Whole && read.Of != r && (read.WholeNode() == n || read.Call != nil && read.Call.End == n)
	})
}

// AwaitsChanges reports whether the resource is a data source or ephemeral resource with depends_on or
// conditions. The plan reads it only if nothing that it depends on changes.
func (r *Resource) AwaitsChanges() bool {
	if r.Config == nil || r.Addr.Resource.Mode == addrs.Managed {
		return false
	}
	dependsOn := r.Exprs.DependsOn != nil
	for m := r.Module; m != nil && !dependsOn; m = m.Parent {
		dependsOn = m.DependsOn != nil
	}
	return dependsOn || r.HasConditions()
}

// MayAwaitCalls reports whether the instances of a block may wait for single instances of module
// calls. They can't if the block refers to its own instances by keys that depend on a module call,
// because these keys decide the order of the instances. Data sources and ephemeral resources with
// conditions can't wait either, because they depend on whether anything that they refer to changes.
func (r *Resource) MayAwaitCalls() bool {
	if r.Addr.Resource.Mode != addrs.Managed && r.HasConditions() {
		return false
	}
	names := func(refs *lang.Refs) bool {
		return slices.ContainsFunc(refs.Objects, func(ref *addrs.Reference) bool {
			_, _, ok := lang.ModuleSubject(ref.Subject)
			return ok
		})
	}
	for _, own := range r.Exprs.ownInstances(r.Addr.Resource) {
		if own.DependsOn(names) {
			return false
		}
	}
	return true
}

// Run says what is known of a run before its graph: reads by key depend on it and on the configuration.
type Run struct {
	Phase      phase.Phase
	ByInstance bool // whether a plan handles each instance separately
	Partial    bool // whether the instances of a resource may differ from those that it declares
	Early      bool // whether keys are known before the walk
}

// SetReads finds what each block and value reads by key in a run. All expressions must be analyzed.
func (t *Tree) SetReads(run Run) {
	run.setAliases(t.Values)
	for _, r := range t.Resources {
		switch {
		case r.Config == nil:
		case run.Phase == phase.Validate:
			r.setOwn()
		case run.Phase == phase.Plan, run.Phase.Applies():
			keyedReads{run, r, t.Imports[r]}.set()
		}
	}
	for _, v := range t.Values {
		run.setValueReads(v)
	}
}
