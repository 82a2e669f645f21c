package planview

import (
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/ui/valuediff"
)

// A Source is a plan together with what is needed to show it. It must not change after its
// first use.
type Source struct {
	Plan   *plans.Plan
	Config *configs.Config // the root module; may be nil
	// Schema returns the schema of a resource type, or nil if it is not available.
	Schema func(addrs.Provider, addrs.Resource) *providers.ResourceSchema

	indexRelevant sync.Once
	relevant      map[addrs.AbsResource][]plans.RelevantAttribute

	indexChanges sync.Once
	changes      map[addrs.AbsInstance]*plans.InstanceChange // changes of current objects by address
}

// Listed returns the changes to show and count, in the order of the module tree. If a destroy
// plan removes results of data sources from the state, these changes are omitted.
func (s *Source) Listed() []*plans.InstanceChange {
	out := slices.Clone(counted(s.Plan))
	addrs.SortByModuleTree(out, func(c *plans.InstanceChange) addrs.AbsInstance { return c.Addr })
	return out
}

func counted(p *plans.Plan) []*plans.InstanceChange {
	quiet := func(c *plans.InstanceChange) bool {
		return c.Action == plans.Delete && c.Addr.Resource.Mode == addrs.Data
	}
	if !slices.ContainsFunc(p.Changes.Instances, quiet) {
		return p.Changes.Instances
	}
	return slices.DeleteFunc(slices.Clone(p.Changes.Instances), quiet)
}

// Deferred returns the deferred changes, in the order of the module tree.
func (s *Source) Deferred() []*plans.Deferred {
	out := slices.Clone(s.Plan.Deferred)
	addrs.SortByModuleTree(out, func(d *plans.Deferred) addrs.AbsInstance { return d.Addr })
	return out
}

// ChangedOutputs returns the root outputs that change, be it only in what is sensitive.
func (s *Source) ChangedOutputs() []*plans.OutputChange {
	var out []*plans.OutputChange
	for _, o := range s.Plan.Changes.Outputs {
		if o.Action != plans.NoOp {
			out = append(out, o)
		}
	}
	return out
}

// ShownDrift returns the changes made outside of OpenTofu. It includes objects that were only moved
// if the plan is refresh-only. It returns nothing for a destroy plan.
func (s *Source) ShownDrift() []*plans.InstanceChange {
	if s.Plan.Mode == plans.Destroy {
		return nil
	}
	var out []*plans.InstanceChange
	for _, c := range s.Plan.Drift {
		if c.Action != plans.NoOp || s.Plan.Mode == plans.RefreshOnly && c.MovedFrom != nil {
			out = append(out, c)
		}
	}
	addrs.SortByModuleTree(out, func(c *plans.InstanceChange) addrs.AbsInstance { return c.Addr })
	return out
}

// RealDrift returns ShownDrift without objects that differ only in null where the other object has
// an empty value. Providers cause such differences, which mean nothing to users.
func (s *Source) RealDrift() []*plans.InstanceChange {
	return slices.DeleteFunc(s.ShownDrift(), func(c *plans.InstanceChange) bool {
		return c.Action == plans.Update && c.MovedFrom == nil && valuediff.Alike(c.Before, c.After)
	})
}

// RelevantDrift returns the drift in the full view: changes of attributes that other blocks
// refer to.
func (s *Source) RelevantDrift() []*plans.InstanceChange { return s.driftAt(s.RelevantPaths) }

// ReviewDrift returns the drift to show to reviewers: RelevantDrift, and changes that the plan
// reverts.
func (s *Source) ReviewDrift() []*plans.InstanceChange { return s.driftAt(s.ReviewPaths) }

// driftAt returns the changes made outside of OpenTofu that affect an object at one of its relevant
// paths, which the function paths returns. In a refresh-only plan, it returns all changes.
func (s *Source) driftAt(paths func(*plans.InstanceChange) []cty.Path) []*plans.InstanceChange {
	all := s.RealDrift()
	if s.Plan.Mode == plans.RefreshOnly {
		return all
	}
	var out []*plans.InstanceChange
	for _, c := range all {
		differs := func(path cty.Path) bool { return differAt(c.Before, c.After, path) }
		if slices.ContainsFunc(paths(c), differs) {
			out = append(out, c)
		}
	}
	return out
}

// DriftNames returns the names of the attributes and blocks that were changed outside of OpenTofu at
// a path that matters to the plan (for review, see ReviewPaths), or anywhere in a refresh-only plan.
func (s *Source) DriftNames(c *plans.InstanceChange, review bool) map[string]bool {
	paths := s.RelevantPaths(c)
	switch {
	case s.Plan.Mode == plans.RefreshOnly:
		paths = []cty.Path{{}}
	case review:
		paths = s.ReviewPaths(c)
	}
	names := make(map[string]bool)
	for _, path := range paths {
		if len(path) > 0 {
			if step, ok := path[0].(cty.GetAttrStep); ok && differAt(c.Before, c.After, path) {
				names[step.Name] = true
			}
			continue
		}
		before := valuediff.Unmarked(c.Before)
		for name := range before.Type().AttributeTypes() {
			if differAt(before, c.After, cty.GetAttrPath(name)) {
				names[name] = true
			}
		}
	}
	return names
}

// RelevantPaths returns the attributes of an object that something that changes reads.
func (s *Source) RelevantPaths(c *plans.InstanceChange) []cty.Path {
	s.indexRelevant.Do(func() {
		s.relevant = make(map[addrs.AbsResource][]plans.RelevantAttribute)
		for _, r := range s.Plan.Read {
			at := addrs.AbsResource{Module: r.Resource.Module, Resource: r.Resource.Resource}
			s.relevant[at] = append(s.relevant[at], r)
		}
	})
	var out []cty.Path
	for _, r := range s.relevant[c.Addr.Abs()] {
		if !r.Resource.HasKey || r.Resource.Key == c.Addr.Key {
			out = append(out, r.Attr)
		}
	}
	return out
}

// ReviewPaths returns RelevantPaths and the attributes that were changed outside of OpenTofu
// and that the plan changes again. If the plan creates a deleted object again, one of the paths
// is empty.
func (s *Source) ReviewPaths(c *plans.InstanceChange) []cty.Path {
	s.indexChanges.Do(func() {
		s.changes = make(map[addrs.AbsInstance]*plans.InstanceChange)
		for _, planned := range s.Plan.Changes.Instances {
			if planned.Deposed == addrs.NotDeposed {
				s.changes[planned.Addr] = planned
			}
		}
	})
	out := s.RelevantPaths(c)
	planned := s.changes[c.Addr]
	if planned == nil || c.Deposed != addrs.NotDeposed {
		return out
	}
	if c.Action == plans.Delete {
		if planned.Action == plans.Create {
			out = append(out, cty.Path{})
		}
		return out
	}
	before, after := valuediff.Unmarked(planned.Before), valuediff.Unmarked(planned.After)
	if planned.Action == plans.NoOp || before.IsNull() || after.IsNull() || !before.Type().IsObjectType() {
		return out
	}
	for name := range before.Type().AttributeTypes() {
		path := cty.GetAttrPath(name)
		if differAt(c.Before, c.After, path) && !valuediff.SameValue(before.GetAttr(name), after.GetAttr(name)) {
			out = append(out, path)
		}
	}
	return out
}

// differAt reports whether two objects differ at a path or at its longest existing prefix, in more
// than null and empty values.
func differAt(before, after cty.Value, path cty.Path) bool {
	for _, step := range path {
		before, after = valuediff.Unmarked(before), valuediff.Unmarked(after)
		if before.IsNull() || after.IsNull() || !before.IsKnown() || !after.IsKnown() {
			break
		}
		b, err := step.Apply(before)
		a, err2 := step.Apply(after)
		if err != nil || err2 != nil {
			break
		}
		before, after = b, a
	}
	return !valuediff.Alike(before, after)
}
