package graph

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// Targets by instance
//
// A target that names one instance includes only the instances that this instance reads. An
// exclusion leaves out only the instances that read an excluded one. The search goes from instance
// to instance in two cases: if a block reads instances of another resource by keys that are known
// before the walk (EarlyKeys), or if the state says which instances an object depends on. In all
// other cases, the search goes from resource to resource along the edges of the graph. If a block
// reads outputs of single instances of a module call, the search along edges begins at these
// outputs.

// instanceAt is an instance of a resource.
type instanceAt struct {
	r   *Resource
	in  addrs.ModuleInstance
	key addrs.InstanceKey
}

func (x instanceAt) addr() addrs.AbsInstance {
	return x.r.Addr.Resource.InInstance(x.in).Instance(x.key)
}

// origin is the start of a search along edges: a resource in the module instance at. The search
// leaves out the resources in skip, because the search by instance has already reached the relevant
// instances of them. Instead of visiting the module calls in calls, it visits outputs.
type origin struct {
	at      addrs.ModuleInstance
	skip    map[*Resource]bool
	calls   map[*Module]bool
	outputs []outputAt
}

// outputAt is an output in one instance of its module.
type outputAt struct {
	v  *Value
	in addrs.ModuleInstance
}

// skips reports whether the search along edges leaves out a node.
func (o origin) skips(n *Node) bool {
	if n.Resource != nil {
		return o.skip[n.Resource] && n == n.Resource.Node
	}
	return n.Module != nil && o.calls[n.Module] && (n.closesModule() || n.isOutput())
}

func (n *Node) isOutput() bool {
	v, ok := n.Object.(*Value)
	return ok && v.Kind == Output && n.Kind == KindValue
}

// nextInstances returns the instances to which a search continues from one instance. It also
// returns the origin from which the search continues along edges, in which at is not set.
type nextInstances func(x instanceAt) ([]foundInstance, origin)

// foundInstance is an instance that a search has reached; reason says why.
type foundInstance struct {
	instanceAt
	reason string
}

// instanceSearch is a search from instance to instance. It visits each instance once.
type instanceSearch struct {
	*targeting
	next nextInstances
	seen map[instanceAt]bool
	todo []instanceAt
}

// startAt is a resource, and an origin of a search along edges from it.
type startAt struct {
	r *Resource
	origin
}

// byInstance begins a search at the instances that targets name. It returns the search, and the
// origins of the search along edges for the targets that don't name single instances.
func (t *targeting) byInstance(from []*Resource, next nextInstances) (*instanceSearch, []startAt) {
	s := &instanceSearch{targeting: t, next: next, seen: map[instanceAt]bool{}}
	var out []startAt
	for _, r := range from {
		for _, hit := range t.matches[r] {
			keys, single := t.keysOf(r, hit)
			if !single {
				out = append(out, startAt{r, origin{at: hit.Module}})
			}
			for _, key := range keys {
				s.add(instanceAt{r, hit.Module, key})
			}
		}
	}
	return s, out
}

// add adds an instance to the search, and reports whether it is new.
func (s *instanceSearch) add(x instanceAt) bool {
	if s.seen[x] {
		return false
	}
	s.seen[x] = true
	s.todo = append(s.todo, x)
	return true
}

// found adds instances that a search has reached.
func (s *instanceSearch) found(list []foundInstance) {
	for _, x := range list {
		if s.add(x.instanceAt) {
			s.reach(x)
		}
	}
}

// run visits the instances that were added, and those that it reaches from them. It returns the
// origins of a search along edges, in the order in which it reaches them, on which the reasons depend.
func (s *instanceSearch) run() []startAt {
	type place struct {
		r  *Resource
		in addrs.ModuleInstance
	}
	var out []startAt
	positions := map[place]int{}
	for len(s.todo) > 0 {
		x := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		found, along := s.next(x)
		s.found(found)
		at, known := positions[place{x.r, x.in}]
		if !known {
			positions[place{x.r, x.in}] = len(out)
			along.at = x.in
			out = append(out, startAt{x.r, along})
			continue
		}
		o := &out[at]
		keepBoth(o.skip, along.skip)
		keepBoth(o.calls, along.calls)
		o.outputs = append(o.outputs, along.outputs...)
	}
	return out
}

// keepBoth removes from a the elements that are not in b.
func keepBoth[K comparable](a, b map[K]bool) {
	for k := range a {
		if !b[k] {
			delete(a, k)
		}
	}
}

// reach records an instance that the search by instance has reached.
func (t *targeting) reach(x foundInstance) {
	if t.reached == nil {
		t.reached, t.reasons = map[*Resource][]addrs.Target{}, map[*Resource]map[addrs.AbsInstance]string{}
	}
	t.reached[x.r] = append(t.reached[x.r], addrs.Target{Module: x.in, Resource: x.r.Addr.Resource, Key: x.key,
		HasKey: x.key != addrs.NoKey})
	if t.reasons[x.r] == nil {
		t.reasons[x.r] = map[addrs.AbsInstance]string{}
	}
	t.reasons[x.r][x.addr()] = x.reason
}

// keysOf returns the keys of the instances of r that a target names. It returns false if the target
// may name instances in several module instances, or instances that are not known.
func (t *targeting) keysOf(r *Resource, hit addrs.Target) ([]addrs.InstanceKey, bool) {
	switch {
	case t.early == nil || hit.IsModule() || hasOpenStep(hit.Module):
		return nil, false
	case hit.HasKey:
		return []addrs.InstanceKey{hit.Key}, true
	case r.Config == nil || t.op.Phase.Destroys():
		return nil, false
	case !r.Exprs.Repetition.Repeats():
		return []addrs.InstanceKey{addrs.NoKey}, true
	}
	keys, known := t.early.Instances(r, hit.Module)
	return keys, known && len(keys) > 0 // if there are no instances, the objects that decide this still take part
}

// needsOf returns the instances that an instance reads, and the outputs of single module instances.
func (t *targeting) needsOf(x instanceAt) ([]foundInstance, origin) {
	var next []foundInstance
	along := origin{skip: map[*Resource]bool{}, calls: map[*Module]bool{}}
	for _, read := range t.readsOf(x.r) {
		keys, known := t.early.Read(x.r, x.in, x.key, read.keyed())
		if !known {
			continue
		}
		along.skip[read.Of] = true
		for _, k := range keys {
			next = append(next, foundInstance{instanceAt{read.Of, x.in, k.Key}, neededBy(x, k.At)})
		}
	}
	whole := map[*Module]bool{}
	for _, read := range x.r.CallReads {
		keys, known := t.early.Read(x.r, x.in, x.key, read.keyed())
		if !known {
			whole[read.Call] = true
			continue
		}
		along.calls[read.Call] = true
		for _, k := range keys {
			for _, v := range read.Outputs() {
				along.outputs = append(along.outputs, outputAt{v, x.in.Child(read.Call.Call.Name, k.Key)})
			}
		}
	}
	for call := range whole {
		delete(along.calls, call)
	}
	return next, along
}

func neededBy(x instanceAt, at hcl.Range) string {
	return fmt.Sprintf("needed by %s at %s", x.addr(), tfdiags.Place(at))
}

// readsOf returns the result of ReadsByInstance, which it computes only once per resource. The
// expressions of imports and of a provider's key may refer to the resources too. So a block that
// has such expressions reads whole resources.
func (t *targeting) readsOf(r *Resource) []IndexedRead {
	if r.Config == nil || r.ProviderKey != nil || len(t.g.Imports[r]) > 0 {
		return nil
	}
	out, known := t.reads[r]
	if !known {
		out = r.ReadsByInstance()
		if t.reads == nil {
			t.reads = map[*Resource][]IndexedRead{}
		}
		t.reads[r] = out
	}
	return out
}

// readersOf returns the instances that read an instance.
func (t *targeting) readersOf(x instanceAt) ([]foundInstance, origin) {
	if t.readers == nil {
		t.readers = map[*Resource][]*Resource{}
		for _, r := range t.g.Resources {
			for _, read := range t.readsOf(r) {
				t.readers[read.Of] = append(t.readers[read.Of], r)
			}
		}
		t.readBy = map[*Resource]map[addrs.ModuleInstance]*readers{}
	}
	if len(t.readers[x.r]) == 0 {
		return nil, origin{skip: map[*Resource]bool{}}
	}
	if t.readBy[x.r] == nil {
		t.readBy[x.r] = map[addrs.ModuleInstance]*readers{}
	}
	found := t.readBy[x.r][x.in]
	if found == nil {
		found = t.findReaders(x.r, x.in)
		t.readBy[x.r][x.in] = found
	}
	return found.byKey[x.key], origin{skip: maps.Clone(found.known)}
}

// readers holds the instances that read each instance of a resource in one module instance. known
// holds the reading resources whose instances of this kind are all known.
type readers struct {
	byKey map[addrs.InstanceKey][]foundInstance
	known map[*Resource]bool
}

func (t *targeting) findReaders(of *Resource, in addrs.ModuleInstance) *readers {
	out := &readers{byKey: map[addrs.InstanceKey][]foundInstance{}, known: map[*Resource]bool{}}
	for _, r := range t.readers[of] {
		keys, known := t.early.Instances(r, in)
		for _, read := range t.readsOf(r) {
			if read.Of != of {
				continue
			}
			for _, key := range keys {
				reads, all := t.early.Read(r, in, key, read.keyed())
				known = known && all
				for _, k := range reads {
					read := refersTo(instanceAt{of, in, k.Key}.addr(), k.At)
					out.byKey[k.Key] = append(out.byKey[k.Key], foundInstance{instanceAt{r, in, key}, read})
				}
			}
		}
		if known {
			out.known[r] = true
		}
	}
	return out
}

// storedUsersOf returns the instances whose objects depend on an instance according to the state.
func (t *targeting) storedUsersOf(x instanceAt) ([]foundInstance, origin) {
	var next []foundInstance
	if t.stored == nil {
		t.findStoredUsers()
	}
	for _, y := range t.stored.users[x.addr()] {
		if y != x {
			next = append(next, foundInstance{y, "depends on " + x.addr().String()})
		}
	}
	return next, origin{skip: maps.Clone(t.stored.exact[x.r])}
}

// storedInstances holds the dependencies between instances in the state.
type storedInstances struct {
	users map[addrs.AbsInstance][]instanceAt
	// exact holds, by resource, the users of it whose objects all name the instances on which they
	// depend.
	exact map[*Resource]map[*Resource]bool
}

func (t *targeting) findStoredUsers() {
	t.stored = &storedInstances{map[addrs.AbsInstance][]instanceAt{}, map[*Resource]map[*Resource]bool{}}
	type pair struct{ of, user *Resource }
	inexact := map[pair]bool{}
	for _, r := range t.g.Resources {
		for _, prior := range r.Prior {
			for key, inst := range prior.Instances {
				if inst.Current == nil {
					continue
				}
				named := map[*Resource]bool{}
				for _, dep := range inst.Current.DependencyInstances {
					t.stored.users[dep] = append(t.stored.users[dep], instanceAt{r, prior.Addr.Module, key})
					if of := t.g.Resource(dep.Config()); of != nil {
						named[of] = true
					}
				}
				for of := range named {
					if t.stored.exact[of] == nil {
						t.stored.exact[of] = map[*Resource]bool{}
					}
					t.stored.exact[of][r] = true
				}
				if len(named) == 0 && inst.Current.Dependencies == nil {
					continue
				}
				for dep := range inst.Current.Dependencies.All() {
					if of := t.g.Resource(dep); of != nil && !named[of] {
						inexact[pair{of, r}] = true
					}
				}
			}
		}
	}
	for p := range inexact {
		delete(t.stored.exact[p.of], p.user)
	}
	for _, users := range t.stored.users {
		slices.SortFunc(users, func(a, b instanceAt) int { return a.addr().Compare(b.addr()) })
	}
}
