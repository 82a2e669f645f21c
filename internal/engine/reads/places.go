package reads

import (
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// Place is a part of the configuration. It takes part in a run either as a whole or not at all.
type Place struct {
	Node *Node
	// In is an instance of the node's module, or of a module that contains it. In the second case,
	// the place consists of all places of the node within In. For a module call, In may also be an
	// instance of the called module; Part is OnePart then.
	In   addrs.ModuleInstance
	Key  addrs.InstanceKey // key of the instance, for a place that is one instance of a resource
	Part Part
}

// Part says what of a node belongs to a place.
type Part uint8

const (
	AllParts  Part = iota // everything in the node: all instances, or the value
	OnePart               // one instance of a resource or module call
	BaseParts             // what all instances of a resource or module call need, such as its for_each
)

// InstancePlace returns the place of an instance of a resource.
func InstancePlace(r *Resource, in addrs.ModuleInstance, key addrs.InstanceKey) Place {
	return Place{Node: r.Node, In: in, Key: key, Part: OnePart}
}

// Instance returns the address of an instance of a resource. For a place with several instances, it
// returns one with UnknownKey.
func (p Place) Instance() addrs.AbsInstance {
	if p.Part != OnePart {
		p.Key = addrs.UnknownKey
	}
	return p.Node.Resource.Addr.Resource.InInstance(p.In).Instance(p.Key)
}

// String returns the address of a place of a resource, as messages name it. It is the address of an
// instance, or that of the resource if the place has several.
func (p Place) String() string {
	r := p.Node.Resource
	switch {
	case p.In.Module() != r.Addr.Module || hasUnknownStep(p.In):
		return r.Addr.String()
	case p.Part == OnePart && p.Key != addrs.UnknownKey:
		return p.Instance().String()
	}
	return r.Addr.Resource.InInstance(p.In).String()
}

// Read is a place that another place reads. The range of the reference may be empty.
type Read struct {
	Of Place
	at *hcl.Range // may be nil
}

// Places finds the places of nodes, and the places that each place reads.
type Places struct {
	tree    *Tree
	refs    *dag.Graph // the references between blocks and values
	early   KnownKeys  // nil if no keys are known
	prior   *states.State
	partial bool
	planned *plannedModules // set if the reads order Steps
	use     use
	singly  bool // in a plan whose walk is ordered, whether values may read single instances of resources
	named   namedKeys
	// stored holds the module instances in the state, and undeclared those of them that are excluded
	// and not declared. Both are empty if nothing is excluded.
	stored, undeclared map[addrs.ModuleInstance]bool
	instances          map[*Module]*moduleInstances

	mu     sync.Mutex                         // guards byKey and each; the rest isn't for concurrent use
	byKey  map[*Node]readByKey                // by block or value
	each   map[*Module]*Each                  // by module call; see eachOf
	ranges map[*Resource]map[*Node]*hcl.Range // by block: its first reference to each node
}

// use is the purpose for which the reads of places are followed.
type use uint8

const (
	toSelect use = iota // selecting targets
	toOrder             // ordering a walk
	toStore             // finding what stored objects depend on; see Storing
)

// namedKeys holds the keys in the addresses of targets.
type namedKeys struct {
	modules   map[addrs.ModuleInstance][]addrs.ModuleInstance // by calling module instance
	instances map[addrs.AbsResource][]addrs.InstanceKey
	// open holds the targets with a key for the resource, but not for all modules around it.
	open map[addrs.ConfigResource][]addrs.Target
}

// of returns the keys for a resource.
func (k namedKeys) of(r addrs.AbsResource) []addrs.InstanceKey {
	out := slices.Clip(k.instances[r])
	for _, t := range k.open[r.Config()] {
		if t.ContainsInstance(r.Instance(t.Key)) {
			out = append(out, t.Key)
		}
	}
	return out
}

// moduleInstances holds the instances of a module.
type moduleInstances struct {
	all   []addrs.ModuleInstance
	has   map[addrs.ModuleInstance]bool
	more  bool                           // there may be others
	under Contents[addrs.ModuleInstance] // nil until the first call of Within
}

// Contents holds things by the module instances that they are in or within.
type Contents[T any] map[addrs.ModuleInstance][]T

// Add adds something that is in a module instance.
func (c Contents[T]) Add(in addrs.ModuleInstance, x T) {
	for ; ; in, _ = in.Parent() {
		c[in] = append(c[in], x)
		if in.IsRoot() {
			return
		}
	}
}

// Source has all that the places of a run are found in.
type Source struct {
	Tree              *Tree
	Refs              *dag.Graph // the references between blocks and values
	Early             KnownKeys  // nil if no keys are known before the walk
	Prior             *states.State
	Targets, Excludes []addrs.Target
	Partial           bool // see Run
}

// Storing returns the places of a walk whose reads are followed to find what objects depend on. These places
// may be asked for by several goroutines. A place that covers several instances of a module, or a resource
// whose instances are not known, isn't split: what it reads covers several instances, too.
func (from Source) Storing() *Places {
	return &Places{tree: from.Tree, refs: from.Refs, early: from.Early, prior: from.Prior, partial: from.Partial,
		use: toStore, byKey: map[*Node]readByKey{}, each: map[*Module]*Each{}}
}

// Selecting returns the places of a run whose reads are followed to select targets.
func (from Source) Selecting() *Places {
	s := &Places{tree: from.Tree, refs: from.Refs, early: from.Early, prior: from.Prior, partial: from.Partial,
		instances: map[*Module]*moduleInstances{}, byKey: map[*Node]readByKey{}, each: map[*Module]*Each{},
		ranges: map[*Resource]map[*Node]*hcl.Range{}}
	s.named = namedKeys{
		modules:   map[addrs.ModuleInstance][]addrs.ModuleInstance{},
		instances: map[addrs.AbsResource][]addrs.InstanceKey{},
		open:      map[addrs.ConfigResource][]addrs.Target{},
	}
	s.stored, s.undeclared = map[addrs.ModuleInstance]bool{}, map[addrs.ModuleInstance]bool{}
	if len(from.Excludes) > 0 {
		for res := range from.Prior.Resources() {
			for m := res.Addr.Module; !m.IsRoot() && !s.stored[m]; m, _ = m.Parent() {
				s.stored[m] = true
			}
		}
	}
	known := map[addrs.ModuleInstance]bool{}
	for _, t := range slices.Concat(from.Targets, from.Excludes) {
		for m := t.Module; !m.IsRoot() && !known[m]; {
			parent, _ := m.Parent()
			if !hasOpenStep(m) {
				known[m] = true
				s.named.modules[parent] = append(s.named.modules[parent], m)
			}
			m = parent
		}
		switch at := t.Resource.InInstance(t.Module); {
		case t.HasKey && hasOpenStep(t.Module):
			s.named.open[at.Config()] = append(s.named.open[at.Config()], t)
		case t.HasKey:
			s.named.instances[at] = append(s.named.instances[at], t.Key)
		}
	}
	return s
}

// Ordering returns the places of a plan whose reads order the walk. singly says whether values may read
// single instances of resources.
func (from Source) Ordering(singly bool) *Places {
	s := from.Selecting()
	s.use, s.singly = toOrder, singly
	return s
}

// OrderingSteps returns the places of an apply, whose keys are those of its plan as far as it has them.
func (from Source) OrderingSteps(plan *plans.Plan) *Places {
	s := from.Selecting()
	s.use, s.planned = toOrder, &plannedModules{plan: plan, prior: from.Prior}
	return s
}

// instancesOf returns the instances of a module.
func (s *Places) instancesOf(m *Module) *moduleInstances {
	if found := s.instances[m]; found != nil {
		return found
	}
	out := &moduleInstances{has: map[addrs.ModuleInstance]bool{}}
	out.all, out.more = s.listInstances(m)
	for _, in := range out.all {
		out.has[in] = true
	}
	s.instances[m] = out
	return out
}

// listInstances returns the instances of a module, and whether there may be others.
func (s *Places) listInstances(m *Module) (list []addrs.ModuleInstance, more bool) {
	if m.Parent == nil {
		return []addrs.ModuleInstance{addrs.RootInstance}, false
	}
	if s.early != nil && m.Config != nil {
		if list, known := s.early.ModuleInstances(m); known {
			return slices.Concat(list, s.excludedInstances(m, list)), false
		}
	}
	var out []addrs.ModuleInstance
	if s.planned != nil {
		out = slices.Clip(s.planned.modulesOf(m))
	}
	for _, parent := range s.instancesOf(m.Parent).all {
		out = append(append(out, s.namedInstances(m, parent)...), s.otherInstances(m, parent))
	}
	return out, true
}

// ModuleInstances returns the instances of a module. One with UnknownKey represents those that are not known.
func (s *Places) ModuleInstances(m *Module) []addrs.ModuleInstance { return s.instancesOf(m).all }

// Known reports whether an instance of a module was known before the walk, if its places were asked for.
func (s *Places) Known(m *Module, in addrs.ModuleInstance) bool {
	found := s.instances[m]
	return found == nil || found.has[in]
}

// IsInstance reports whether at is, or may be, an instance of a module. If targets are followed, the
// instances that no target names are represented by one address.
func (s *Places) IsInstance(m *Module, at addrs.ModuleInstance) bool {
	if s.use == toStore {
		return at.Module() == m.Path
	}
	found := s.instancesOf(m)
	return found.has[at] || s.planned != nil && found.more && at.Module() == m.Path
}

// namedInstances returns the instances of a module that targets name, in one calling module instance.
func (s *Places) namedInstances(m *Module, parent addrs.ModuleInstance) []addrs.ModuleInstance {
	var out []addrs.ModuleInstance
	for _, in := range s.named.modules[parent] {
		if in.Module() == m.Path {
			out = append(out, in)
		}
	}
	return out
}

// otherInstances returns an address for the instances of a module that targets don't name.
func (s *Places) otherInstances(m *Module, parent addrs.ModuleInstance) addrs.ModuleInstance {
	names := m.Path.Names()
	return parent.Child(names[len(names)-1], addrs.UnknownKey)
}

// excludedInstances returns the instances of a module in the state that are excluded although the
// configuration doesn't declare them. They stay, so references to the module call read them too.
func (s *Places) excludedInstances(m *Module, declared []addrs.ModuleInstance) []addrs.ModuleInstance {
	if len(s.stored) == 0 {
		return nil
	}
	has := map[addrs.ModuleInstance]bool{}
	for _, in := range declared {
		has[in] = true
	}
	var out []addrs.ModuleInstance
	above := s.instancesOf(m.Parent)
	for _, parent := range above.all {
		for _, in := range s.namedInstances(m, parent) {
			if !has[in] && s.stored[in] {
				out = append(out, in)
			}
		}
		if s.undeclared[parent] {
			out = append(out, s.otherInstances(m, parent))
		}
	}
	for _, in := range out {
		s.undeclared[in] = true
	}
	return out
}

// Within returns the instances of a module that are in, or within, a module instance.
func (s *Places) Within(m *Module, at addrs.ModuleInstance) []addrs.ModuleInstance {
	if s.IsInstance(m, at) {
		return []addrs.ModuleInstance{at}
	}
	found := s.instancesOf(m)
	if found.under == nil {
		found.under = Contents[addrs.ModuleInstance]{}
		for _, in := range found.all {
			found.under.Add(in, in)
		}
	}
	return found.under[at]
}

// Keys returns the keys of the instances of a resource in one module instance. It includes those of
// objects that are no longer declared, if targets name them.
func (s *Places) Keys(r *Resource, in addrs.ModuleInstance) []addrs.InstanceKey {
	abs := r.Addr.Resource.InInstance(in)
	named := s.named.of(abs)
	if s.early != nil && r.Config != nil {
		if keys, known := s.early.Instances(r, in); known {
			all := slices.Clip(keys)
			for _, key := range named {
				if !s.Declares(r, in, key) && s.prior.Instance(abs.Instance(key)) != nil {
					all = append(all, key)
				}
			}
			return all
		}
	}
	return append(named, addrs.UnknownKey)
}

// Declares reports whether a resource has an instance with a key in the configuration, or may have it.
func (s *Places) Declares(r *Resource, in addrs.ModuleInstance, key addrs.InstanceKey) bool {
	switch {
	case s.undeclared[in]:
		return false
	case s.early == nil || r.Config == nil:
		return true
	}
	keys, known := s.early.Instances(r, in)
	return !known || containsKey(keys, key)
}

// Outermost returns the module instance that contains at and has the given depth, which is the
// number of steps in its address. It returns at itself if at isn't deeper.
func Outermost(at addrs.ModuleInstance, depth int) addrs.ModuleInstance {
	for n := len(at.Steps()); n > depth; n-- {
		at, _ = at.Parent()
	}
	return at
}

// SharedDepth returns the depth of the innermost module that contains both modules. It is 0 for the
// root module.
func SharedDepth(a, b *Module) int {
	if a == nil || b == nil {
		return 0
	}
	return sharedNames(a.Path.Names(), b.Path.Names())
}

// sharedNames returns the length of the common prefix of two paths.
func sharedNames(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Name returns a readable name for the node of a place.
func (p Place) Name() string {
	name := p.Node.Name
	if p.Node.Module != nil && p.In.Module() == p.Node.Module.Path {
		name = p.In.String() + strings.TrimPrefix(name, p.Node.Module.Path.String())
	}
	if p.Part == BaseParts {
		return name + " (needs)"
	}
	return name + " (read)"
}

// Several reports whether the place represents several instances, because its key or a key of its module
// is UnknownKey.
func (p Place) Several() bool { return p.Key == addrs.UnknownKey || hasUnknownStep(p.In) }

// hasUnknownStep reports whether a step of a module instance has UnknownKey, so it represents
// several instances.
func hasUnknownStep(m addrs.ModuleInstance) bool {
	return slices.ContainsFunc(m.Steps(), func(s addrs.Step) bool { return s.Key == addrs.UnknownKey })
}
