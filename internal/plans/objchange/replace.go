package objchange

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
)

// ReplacePaths returns those of the provider's replacement paths whose values differ between the
// prior and the planned object or are unknown in the planned object. It also returns all paths of
// write-only attributes, because changes of these attributes are not visible. writeOnly reports
// whether there is such a path. If there is no prior object, it returns nothing. A path that the
// resource type does not have is an error.
func ReplacePaths(
	schema *configschema.Block, prior, planned cty.Value, required []cty.Path,
) (kept []cty.Path, writeOnly bool, errs []error) {
	if prior.IsNull() || len(required) == 0 {
		return nil, false, nil
	}
	prior, planned = bare(prior), bare(planned)
	for _, path := range required {
		a := schema.AttributeByPath(path)
		if a != nil && a.WriteOnly {
			kept, writeOnly = append(kept, path), true
			continue
		}
		before, hasBefore := follow(prior, path)
		after, hasAfter := follow(planned, path)
		switch {
		case !hasBefore && !hasAfter:
			if a == nil && schema.BlockByPath(path) == nil {
				errs = append(errs, path.NewErrorf("the resource type has no such attribute"))
			}
		case hasBefore != hasAfter, !after.IsWhollyKnown(), !before.RawEquals(after):
			kept = append(kept, path)
		}
	}
	return kept, writeOnly, errs
}

// follow returns the value at a path and reports whether the path exists. As in the configuration
// language, an index may be the name of an attribute.
func follow(v cty.Value, path cty.Path) (cty.Value, bool) {
	for _, step := range path {
		if v.IsNull() {
			return cty.NilVal, false
		}
		var diags hcl.Diagnostics
		switch step := step.(type) {
		case cty.GetAttrStep:
			v, diags = hcl.GetAttr(v, step.Name, nil)
		case cty.IndexStep:
			if v.Type().IsSetType() {
				return cty.NilVal, false
			}
			v, diags = hcl.Index(v, step.Key, nil)
		}
		if diags.HasErrors() {
			return cty.NilVal, false
		}
	}
	return v, true
}
