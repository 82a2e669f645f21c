package graph

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
)

// What reads what
//
// A place is an instance of a resource, or a value or module call in one instance of its module.
// placeReads finds the places that a place reads: instances whose keys are known, values in the same,
// the calling or a called module instance, and otherwise whole resources. Two things follow these
// reads from place to place: targets and exclusions (place_search.go), and the order of an apply
// (transform_instances.go). They visit each place once and follow each read once, so their cost is
// linear in the number of instances and of references between them.
//
// The keys are those that are known before the walk (EarlyKeys) and, in an apply, those that the plan
// has recorded. If targets are followed and the keys of a resource or module call are not known, its
// places are the instances that targets name, and one with the key UnknownKey that represents all
// others.

// place is a part of the configuration. It takes part in a run either as a whole or not at all.
type place struct {
	n *Node
	// in is an instance of the node's module, or of a module that contains it. In the second case,
	// the place consists of all places of the node within in. For a module call, in may also be an
	// instance of the called module; part is onePart then.
	in   addrs.ModuleInstance
	key  addrs.InstanceKey // key of the instance, for a place that is one instance of a resource
	part placePart
}

type placePart uint8

const (
	allParts  placePart = iota // everything in the node: all instances, or the value
	onePart                    // one instance of a resource or module call
	baseParts                  // what all instances of a resource or module call need, such as its for_each
)

func instancePlace(r *Resource, in addrs.ModuleInstance, key addrs.InstanceKey) place {
	return place{n: r.Node, in: in, key: key, part: onePart}
}

// instance returns the address of an instance of a resource. For a place with several instances, it
// returns one with UnknownKey.
func (p place) instance() addrs.AbsInstance {
	if p.part != onePart {
		p.key = addrs.UnknownKey
	}
	return p.n.Resource.Addr.Resource.InInstance(p.in).Instance(p.key)
}

// String returns the address of a place of a resource, as messages name it. It is the address of an
// instance, or that of the resource if the place has several.
func (p place) String() string {
	r := p.n.Resource
	switch {
	case p.in.Module() != r.Addr.Module || hasUnknownStep(p.in):
		return r.Addr.String()
	case p.part == onePart && p.key != addrs.UnknownKey:
		return p.instance().String()
	}
	return r.Addr.Resource.InInstance(p.in).String()
}

// hasUnknownStep reports whether a step of a module instance has UnknownKey, so it represents
// several instances.
func hasUnknownStep(m addrs.ModuleInstance) bool {
	return slices.ContainsFunc(m.Steps(), func(s addrs.Step) bool { return s.Key == addrs.UnknownKey })
}

// read is a place that another place reads. The range of the reference may be empty.
type read struct {
	of place
	at *hcl.Range // may be nil
}

// placeReads finds the places of nodes, and the places that each place reads.
type placeReads struct {
	*build
	early EarlyKeys  // nil if no keys are known
	steps *stepOrder // set if the reads order Steps
	// orders reports whether the reads order a walk, instead of selecting targets. In a plan, singly says
	// whether values may read single instances of resources.
	orders, singly bool
	named          namedKeys
	// stored holds the module instances in the state, and undeclared those of them that are excluded
	// and not declared. Both are empty if nothing is excluded.
	stored, undeclared map[addrs.ModuleInstance]bool
	instances          map[*Module]*moduleInstances
	byKey              map[*Resource][]IndexedRead
	calls              map[*Resource][]CallRead           // see callReads
	chained            map[*Module][]CallRead             // by module call; see chainedReads
	apart              map[*Node]map[*Node]bool           // by block: the nodes that it reads only by key
	ranges             map[*Resource]map[*Node]*hcl.Range // by block: its first reference to each node
}

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
	more  bool                                            // there may be others
	under map[addrs.ModuleInstance][]addrs.ModuleInstance // by containing module instance; see within
}

func newPlaceReads(b *build, steps *stepOrder) *placeReads {
	s := &placeReads{build: b, steps: steps, orders: steps != nil, instances: map[*Module]*moduleInstances{}, byKey: map[*Resource][]IndexedRead{},
		calls: map[*Resource][]CallRead{}, chained: map[*Module][]CallRead{},
		apart: map[*Node]map[*Node]bool{}, ranges: map[*Resource]map[*Node]*hcl.Range{}}
	if b.op.Early != nil {
		s.early = b.earlyKeys()
	}
	s.named = namedKeys{
		modules:   map[addrs.ModuleInstance][]addrs.ModuleInstance{},
		instances: map[addrs.AbsResource][]addrs.InstanceKey{},
		open:      map[addrs.ConfigResource][]addrs.Target{},
	}
	s.stored, s.undeclared = map[addrs.ModuleInstance]bool{}, map[addrs.ModuleInstance]bool{}
	if len(b.op.Excludes) > 0 {
		for res := range b.op.Prior.Resources() {
			for m := res.Addr.Module; !m.IsRoot() && !s.stored[m]; m, _ = m.Parent() {
				s.stored[m] = true
			}
		}
	}
	known := map[addrs.ModuleInstance]bool{}
	for _, t := range slices.Concat(b.op.Targets, b.op.Excludes) {
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

// instancesOf returns the instances of a module.
func (s *placeReads) instancesOf(m *Module) *moduleInstances {
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
func (s *placeReads) listInstances(m *Module) (list []addrs.ModuleInstance, more bool) {
	if m.Parent == nil {
		return []addrs.ModuleInstance{addrs.RootInstance}, false
	}
	if s.early != nil && m.Config != nil {
		if list, known := s.early.ModuleInstances(m); known {
			return slices.Concat(list, s.excludedInstances(m, list)), false
		}
	}
	var out []addrs.ModuleInstance
	if s.steps != nil {
		out = slices.Clip(s.steps.modulesOf(m))
	}
	for _, parent := range s.instancesOf(m.Parent).all {
		out = append(append(out, s.namedInstances(m, parent)...), s.otherInstances(m, parent))
	}
	return out, true
}

// isInstance reports whether at is, or may be, an instance of a module. If targets are followed, the
// instances that no target names are represented by one address.
func (s *placeReads) isInstance(m *Module, at addrs.ModuleInstance) bool {
	found := s.instancesOf(m)
	return found.has[at] || s.steps != nil && found.more && at.Module() == m.Path
}

// namedInstances returns the instances of a module that targets name, in one calling module instance.
func (s *placeReads) namedInstances(m *Module, parent addrs.ModuleInstance) []addrs.ModuleInstance {
	var out []addrs.ModuleInstance
	for _, in := range s.named.modules[parent] {
		if in.Module() == m.Path {
			out = append(out, in)
		}
	}
	return out
}

// otherInstances returns an address for the instances of a module that targets don't name.
func (s *placeReads) otherInstances(m *Module, parent addrs.ModuleInstance) addrs.ModuleInstance {
	names := m.Path.Names()
	return parent.Child(names[len(names)-1], addrs.UnknownKey)
}

// excludedInstances returns the instances of a module in the state that are excluded although the
// configuration doesn't declare them. They stay, so references to the module call read them too.
func (s *placeReads) excludedInstances(m *Module, declared []addrs.ModuleInstance) []addrs.ModuleInstance {
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

// within returns the instances of a module that are in, or within, a module instance.
func (s *placeReads) within(m *Module, at addrs.ModuleInstance) []addrs.ModuleInstance {
	found := s.instancesOf(m)
	if s.isInstance(m, at) {
		return []addrs.ModuleInstance{at}
	}
	if found.under == nil {
		found.under = map[addrs.ModuleInstance][]addrs.ModuleInstance{}
		for _, in := range found.all {
			for above := in; !above.IsRoot(); {
				above, _ = above.Parent()
				found.under[above] = append(found.under[above], in)
			}
		}
	}
	return found.under[at]
}

// keys returns the keys of the instances of a resource in one module instance. It includes those of
// objects that are no longer declared, if targets name them.
func (s *placeReads) keys(r *Resource, in addrs.ModuleInstance) []addrs.InstanceKey {
	abs := r.Addr.Resource.InInstance(in)
	named := s.named.of(abs)
	if s.early != nil && r.Config != nil {
		if keys, known := s.early.Instances(r, in); known {
			all := slices.Clip(keys)
			for _, key := range named {
				if !s.declares(r, in, key) && s.op.Prior.Instance(abs.Instance(key)) != nil {
					all = append(all, key)
				}
			}
			return all
		}
	}
	return append(named, addrs.UnknownKey)
}

// declares reports whether a resource has an instance with a key in the configuration, or may have it.
func (s *placeReads) declares(r *Resource, in addrs.ModuleInstance, key addrs.InstanceKey) bool {
	switch {
	case s.undeclared[in]:
		return false
	case s.early == nil || r.Config == nil:
		return true
	}
	keys, known := s.early.Instances(r, in)
	_, found := slices.BinarySearchFunc(keys, key, addrs.InstanceKey.Compare)
	return found || !known
}

// outermost returns the module instance that contains at and has the given depth, which is the
// number of steps in its address. It returns at itself if at isn't deeper.
func outermost(at addrs.ModuleInstance, depth int) addrs.ModuleInstance {
	for n := len(at.Steps()); n > depth; n-- {
		at, _ = at.Parent()
	}
	return at
}

// sharedDepth returns the depth of the innermost module that contains both modules. It is 0 for the
// root module.
func sharedDepth(a, b *Module) int {
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
