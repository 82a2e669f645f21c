package ui

import (
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
)

// Schemas returns the schema of a provider, or nil if it is not available.
type Schemas func(addrs.Provider) *providers.Schema

// resource returns the schema of a resource type, or nil if it is not available.
func (s Schemas) resource(p addrs.Provider, r addrs.Resource) *providers.ResourceSchema {
	if s == nil {
		return nil
	}
	schema := s(p)
	if schema == nil {
		return nil
	}
	table := schema.Table(r.Mode)
	if table == nil {
		return nil
	}
	return table.Type(r.Type)
}

// markSecrets marks the parts of a value that the schema declares sensitive. Without a schema it
// returns the value unchanged.
func markSecrets(v cty.Value, sch *providers.ResourceSchema) cty.Value {
	if sch == nil || v.IsNull() || !sch.Block.ContainsSensitive() {
		return v
	}
	paths := sch.Block.SensitivePaths(v)
	missing := slices.ContainsFunc(paths, func(path cty.Path) bool {
		at, err := path.Apply(v)
		return err != nil || !marks.Has(at, marks.Sensitive)
	})
	if !missing { // usually the value is already marked
		return v
	}
	return states.MarkSensitive(v, paths)
}

// markShown is markSecrets for the human form, which also hides the output of a terraform_data
// resource with a sensitive input. JSON documents and the state have no such marks, and neither do
// references to the output: OpenTofu has none, and marks would make root outputs invalid and change
// plans.
func markShown(v cty.Value, sch *providers.ResourceSchema, p addrs.Provider, r addrs.Resource) cty.Value {
	v = markSecrets(v, sch)
	if p != addrs.BuiltinTerraform || r.Mode != addrs.Managed || r.Type != "terraform_data" || v.IsNull() ||
		!v.IsKnown() {
		return v
	}
	input := v.GetAttr("input")
	if !marks.Contains(input, marks.Sensitive) {
		return v
	}
	_, secrets := input.UnmarkDeepWithPaths()
	output := v.GetAttr("output")
	whole := cty.GetAttrPath("output")
	var paths []cty.Path
	for _, secret := range secrets {
		if _, err := secret.Path.Apply(output); err == nil {
			paths = append(paths, append(whole.Copy(), secret.Path...))
		} else if output.IsKnown() {
			paths = append(paths, whole) // the output is that of another input, for example after a failed apply
		}
	}
	return states.MarkSensitive(v, paths)
}

// PlanView is a plan with what is required to show it.
type PlanView struct {
	Plan    *plans.Plan
	Config  *configs.Config
	Schemas Schemas
	// Saved says that the plan was shown before it was saved, and is about to be applied.
	Saved bool

	indexRelevant sync.Once
	relevant      map[addrs.AbsResource][]plans.RelevantAttribute
}

// listed returns the changes to show and count. It omits the removal of data source results from
// the state by a destroy plan.
func (v *PlanView) listed() []*plans.InstanceChange {
	out := slices.Clone(listedChanges(v.Plan))
	addrs.SortByModuleTree(out, func(c *plans.InstanceChange) addrs.AbsInstance { return c.Addr })
	return out
}

func listedChanges(p *plans.Plan) []*plans.InstanceChange {
	quiet := func(c *plans.InstanceChange) bool {
		return c.Action == plans.Delete && c.Addr.Resource.Mode == addrs.Data
	}
	if !slices.ContainsFunc(p.Changes.Instances, quiet) {
		return p.Changes.Instances
	}
	return slices.DeleteFunc(slices.Clone(p.Changes.Instances), quiet)
}

// StateView is a state with what is required to show it.
type StateView struct {
	State   *states.State
	Schemas Schemas
	// Only, if not nil, is the one instance to show.
	Only *addrs.AbsInstance
}
