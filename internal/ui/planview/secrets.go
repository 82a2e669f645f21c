package planview

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang/marks"
	"tofu/internal/providers"
	"tofu/internal/states"
)

// MarkSecrets marks the parts of a value that the schema declares sensitive. It returns the
// value unchanged if sch is nil.
func MarkSecrets(v cty.Value, sch *providers.ResourceSchema) cty.Value {
	if sch == nil || v.IsNull() || !sch.Block.ContainsSensitive() {
		return v
	}
	paths := sch.Block.SensitivePaths(v)
	missing := slices.ContainsFunc(paths, func(path cty.Path) bool {
		at, err := path.Apply(v)
		return err != nil || !marks.Has(at, marks.Sensitive)
	})
	if !missing { // most values are already marked
		return v
	}
	return states.MarkSensitive(v, paths)
}

// MarkShown marks the parts of a value that the human form hides: those that MarkSecrets and
// MarkOutput mark.
func MarkShown(v cty.Value, sch *providers.ResourceSchema, p addrs.Provider, r addrs.Resource) cty.Value {
	return MarkOutput(MarkSecrets(v, sch), p, r)
}

// MarkOutput marks the output of a terraform_data resource whose input is sensitive. It returns
// other objects unchanged. Only the human form hides such an output. JSON documents, the state
// and references to the output have no such marks. OpenTofu has none there either, and marks
// would make root outputs invalid and change plans.
func MarkOutput(v cty.Value, p addrs.Provider, r addrs.Resource) cty.Value {
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
			// The output comes from an earlier input, for example after a failed apply.
			paths = append(paths, whole)
		}
	}
	return states.MarkSensitive(v, paths)
}

// MarkPlanned is like MarkOutput, but also marks known outputs in a planned read of
// terraform_remote_state. They are planned outputs of another root module, and only the plan of
// that root module says whether they are sensitive.
func MarkPlanned(v cty.Value, p addrs.Provider, r addrs.Resource) cty.Value {
	isRemote := p == addrs.BuiltinTerraform && r.Mode == addrs.Data && r.Type == "terraform_remote_state"
	if !isRemote || v.IsNull() || !v.IsKnown() {
		return MarkOutput(v, p, r)
	}
	outputs := v.GetAttr("outputs")
	if outputs.IsNull() || !outputs.IsKnown() || !outputs.Type().IsObjectType() {
		return v
	}
	var paths []cty.Path
	for name := range outputs.Type().AttributeTypes() {
		if outputs.GetAttr(name).IsKnown() {
			paths = append(paths, cty.GetAttrPath("outputs").GetAttr(name))
		}
	}
	return states.MarkSensitive(v, paths)
}
