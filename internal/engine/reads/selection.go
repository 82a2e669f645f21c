package reads

import (
	"slices"

	"tofu/internal/addrs"
)

// Selection is the set of instances of a resource that take part in an operation.
type Selection struct {
	only []addrs.Target // targets that take part; nil if the field not is used instead
	not  []addrs.Target // targets that do not take part; used if only is nil

	// These sets hold the targets that have a key at each step of their module path. They take part
	// if only is not nil. There may be many, so they are looked up instead of compared one by one.
	// The fields above hold the other targets.
	named     map[addrs.AbsInstance]bool
	resources map[addrs.AbsResource]bool
	modules   map[addrs.ModuleInstance]bool

	// orphans selects among deposed objects and the instances that the configuration no longer
	// declares. No other resource depends on these objects, so only targets that name them select
	// them. Nil selects all of them.
	orphans *Selection

	// reasons says why instances that no target names take part, and reason says why the resource
	// as a whole does.
	reasons map[addrs.AbsInstance]string
	reason  string
}

// NeededBy says why an instance that no target names takes part, or "" if that is not known.
func (s *Selection) NeededBy(addr addrs.AbsInstance) string {
	switch {
	case s == nil:
		return ""
	case s.reasons[addr] != "":
		return s.reasons[addr]
	case s.reason == "" || s.orphans.Has(addr):
		return ""
	}
	return s.reason
}

// NothingSelected selects no instance.
var NothingSelected = &Selection{only: []addrs.Target{}}

// Has reports whether an instance takes part.
func (s *Selection) Has(addr addrs.AbsInstance) bool {
	if s == nil {
		return true
	}
	in := func(list []addrs.Target) bool {
		return s.named[addr] || s.resources[addr.Abs()] || within(s.modules, addr.Module) ||
			slices.ContainsFunc(list, func(t addrs.Target) bool { return t.ContainsInstance(addr) })
	}
	if s.only != nil {
		return in(s.only)
	}
	return !in(s.not)
}

// HasOrphan reports whether an instance that the configuration no longer declares takes part.
func (s *Selection) HasOrphan(addr addrs.AbsInstance) bool {
	return s.Has(addr) && (s == nil || s.orphans.Has(addr))
}

// WithOrphans returns a Selection with the same declared instances as s and the orphans that
// another Selection selects.
func (s *Selection) WithOrphans(orphans *Selection) *Selection {
	var out Selection
	if s != nil {
		out = *s
	}
	out.orphans = orphans
	return &out
}

// within reports whether a set contains m or a module instance that contains m.
func within(set map[addrs.ModuleInstance]bool, m addrs.ModuleInstance) bool {
	for ; len(set) > 0 && !m.IsRoot(); m, _ = m.Parent() {
		if set[m] {
			return true
		}
	}
	return false
}

// Select returns a Selection of the instances that the targets name.
func Select(targets []addrs.Target) *Selection {
	s, rest := newSelection(targets)
	s.only = rest
	return s
}

// SelectOthers returns a Selection of all instances that the targets do not name.
func SelectOthers(targets []addrs.Target) *Selection {
	s, rest := newSelection(targets)
	s.not = rest
	return s
}

// newSelection returns a Selection with the targets that can be looked up, and the rest of the
// targets.
func newSelection(list []addrs.Target) (s *Selection, rest []addrs.Target) {
	s = &Selection{
		named: map[addrs.AbsInstance]bool{}, resources: map[addrs.AbsResource]bool{},
		modules: map[addrs.ModuleInstance]bool{},
	}
	rest = []addrs.Target{}
	for _, t := range list {
		switch {
		case hasOpenStep(t.Module):
			rest = append(rest, t)
		case t.IsModule():
			s.modules[t.Module] = true
		case t.HasKey:
			s.named[t.Resource.InInstance(t.Module).Instance(t.Key)] = true
		default:
			s.resources[t.Resource.InInstance(t.Module)] = true
		}
	}
	return s, rest
}

// hasOpenStep reports whether a step of a target's module has no key, so that it may cover several
// instances.
func hasOpenStep(m addrs.ModuleInstance) bool {
	return slices.ContainsFunc(m.Steps(), func(s addrs.Step) bool { return s.Key == addrs.NoKey })
}

// Because records the reason why the instances in a place take part. A search reaches an instance
// once, but may reach the resource as a whole in several places. The first reason is kept.
func (s *Selection) Because(x Reached, reason string) {
	switch {
	case x.Part == AllParts && s.reason == "":
		s.reason = reason
	case x.Part == OnePart:
		if s.reasons == nil {
			s.reasons = map[addrs.AbsInstance]string{}
		}
		s.reasons[x.Instance()] = reason
	}
}

// TakesPart reports whether some instance may take part.
func (s *Selection) TakesPart() bool {
	return s == nil || s.only == nil || len(s.only)+len(s.named)+len(s.resources)+len(s.modules) > 0
}
