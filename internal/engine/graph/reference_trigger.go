package graph

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/tfdiags"
)

// TriggerPath converts an item of replace_triggered_by, such as A[count.index].attr, to a
// traversal. key evaluates its index expressions.
func TriggerPath(expr hcl.Expression, key func(hcl.Expression) (cty.Value, error)) (hcl.Traversal, error) {
	if tr, diags := hcl.AbsTraversalForExpr(expr); !diags.HasErrors() {
		return tr, nil
	}
	switch expr := expr.(type) {
	case *hclsyntax.RelativeTraversalExpr:
		head, err := TriggerPath(expr.Source, key)
		return append(slices.Clip(head), expr.Traversal...), err
	case *hclsyntax.IndexExpr:
		head, err := TriggerPath(expr.Collection, key)
		if _, none := hcl.AbsTraversalForExpr(expr.Key); none.HasErrors() {
			return nil, tfdiags.Join(err, noPath(expr.Key.Range()))
		}
		k, keyErr := key(expr.Key)
		return append(slices.Clip(head), hcl.TraverseIndex{Key: k, SrcRange: expr.SrcRange}),
			tfdiags.Join(err, keyErr)
	}
	return nil, noPath(expr.Range())
}

func noPath(at hcl.Range) tfdiags.Diagnostic {
	return tfdiags.Errorf("Invalid replace_triggered_by expression",
		"Each item of replace_triggered_by must be a reference to a resource, one of its instances or an attribute. "+
			"An index must be a constant, count.index or each.key.").At(at)
}

// checkTrigger returns an error for an item of replace_triggered_by that is not a path. It also
// returns an error if the index of the path is a reference and the schema doesn't have the rest of
// the path. All other items are checked like any reference.
func (c *connector) checkTrigger(m *Module, e *lang.Expr) error {
	unknownKey := func(hcl.Expression) (cty.Value, error) { return cty.DynamicVal, nil }
	path, err := TriggerPath(e.Expression, unknownKey)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(path, func(step hcl.Traverser) bool {
		index, ok := step.(hcl.TraverseIndex)
		return ok && !index.Key.IsKnown()
	})
	if at < 0 {
		return nil
	}
	ref, err := addrs.ParseRef(path[:at], addrs.ModuleScope)
	if err != nil {
		return err
	}
	rest := slices.Concat(ref.Remaining, path[at:])
	res, whole := ref.Subject.(addrs.Resource)
	if inst, ok := ref.Subject.(addrs.ResourceInstance); ok {
		res = inst.Resource
	} else if whole && len(ref.Remaining) == 0 {
		rest = rest[1:] // the key of an instance
	}
	if r := m.Resources[res]; r != nil && r.Schema != nil {
		return tfdiags.FromHCL(r.Schema.Block.StaticValidateTraversal(rest)).Err()
	}
	return nil
}
