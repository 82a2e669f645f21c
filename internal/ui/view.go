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

// Schemas gives a provider's schema, nil when it isn't known.
type Schemas func(addrs.Provider) *providers.Schema

// resource gives the schema of a resource type, nil when it isn't known.
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

// markSecrets puts the sensitive mark on what the schema calls sensitive. Without a schema the value stays as it is.
func markSecrets(v cty.Value, sch *providers.ResourceSchema) cty.Value {
	if sch == nil || v.IsNull() || !sch.Block.ContainsSensitive() {
		return v
	}
	paths := sch.Block.SensitivePaths(v)
	missing := slices.ContainsFunc(paths, func(path cty.Path) bool {
		at, err := path.Apply(v)
		return err != nil || !marks.Has(at, marks.Sensitive)
	})
	if !missing { // as a rule, who made the value did it
		return v
	}
	return states.MarkSensitive(v, paths)
}

// markShown is markSecrets for people, from whom it also hides the output of a terraform_data whose input is sensitive. The
// documents for programs, like the state, have no such mark, and neither have references to the output: OpenTofu has none, and
// would refuse root outputs or plan updates for its sake.
func markShown(v cty.Value, sch *providers.ResourceSchema, p addrs.Provider, r addrs.Resource) cty.Value {
	v = markSecrets(v, sch)
	if p != addrs.BuiltinTerraform || r.Mode != addrs.Managed || r.Type != "terraform_data" || v.IsNull() || !v.IsKnown() {
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
			paths = append(paths, whole) // the output of another input, as when an apply fails
		}
	}
	return states.MarkSensitive(v, paths)
}

// PlanView is a plan with what is needed to show it.
type PlanView struct {
	Plan    *plans.Plan
	Config  *configs.Config
	Schemas Schemas
	// Saved: the plan was made and shown earlier, and is about to be applied.
	Saved bool

	indexRelevant sync.Once
	relevant      map[addrs.AbsResource][]plans.RelevantAttribute
}

// listed are the changes that are shown and counted: that the results of data sources leave the state when everything is destroyed is
// no news.
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

// StateView is a state with what is needed to show it.
type StateView struct {
	State   *states.State
	Schemas Schemas
	// Only, when set, is the one instance to show.
	Only *addrs.AbsInstance
}
