package ui

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/ui/valuediff"
)

// shownDrift returns the changes made outside. It includes moved objects only in a refresh-only
// plan, and nothing in a destroy plan.
func (v *PlanView) shownDrift() []*plans.InstanceChange {
	if v.Plan.Mode == plans.Destroy {
		return nil
	}
	var out []*plans.InstanceChange
	for _, c := range v.Plan.Drift {
		if c.Action != plans.NoOp || v.Plan.Mode == plans.RefreshOnly && c.MovedFrom != nil {
			out = append(out, c)
		}
	}
	addrs.SortByModuleTree(out, func(c *plans.InstanceChange) addrs.AbsInstance { return c.Addr })
	return out
}

// relevantDrift returns the drift to show to users: changes that may have affected the plan.
func (v *PlanView) relevantDrift() []*plans.InstanceChange {
	all := v.shownDrift()
	if v.Plan.Mode == plans.RefreshOnly {
		return all
	}
	var out []*plans.InstanceChange
	for _, c := range all {
		if slices.ContainsFunc(v.relevantPaths(c),
			func(path cty.Path) bool { return differAt(c.Before, c.After, path) }) {
			out = append(out, c)
		}
	}
	return out
}

// relevantPaths returns the attributes of an object that the plan depends on.
func (v *PlanView) relevantPaths(c *plans.InstanceChange) []cty.Path {
	v.indexRelevant.Do(func() {
		v.relevant = make(map[addrs.AbsResource][]plans.RelevantAttribute)
		for _, r := range v.Plan.RelevantAttributes {
			at := addrs.AbsResource{Module: r.Resource.Module, Resource: r.Resource.Resource}
			v.relevant[at] = append(v.relevant[at], r)
		}
	})
	var out []cty.Path
	for _, r := range v.relevant[c.Addr.Abs()] {
		if !r.Resource.HasKey || r.Resource.Key == c.Addr.Key {
			out = append(out, r.Attr)
		}
	}
	return out
}

// differAt reports whether two objects differ at a path or at its longest existing prefix.
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
	return !valuediff.SameValue(before, after)
}
