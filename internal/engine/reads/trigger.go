package reads

import (
	"errors"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/lang"
	"tofu/internal/tfdiags"
)

// TriggerPath converts an item of replace_triggered_by, such as A[count.index].attr, to a
// traversal. key evaluates its index expressions.
func TriggerPath(expr hcl.Expression, key func(hcl.Expression) (cty.Value, error)) (hcl.Traversal, error) {
	path, _, err := configs.Address(expr, func(e hcl.Expression) (cty.Value, error) {
		if _, diags := hcl.AbsTraversalForExpr(e); diags.HasErrors() {
			return cty.DynamicVal, noPath(e.Range())
		}
		return key(e)
	})
	if errors.Is(err, configs.ErrNoAddress) {
		err = noPath(expr.Range())
	}
	return path, err
}

func noPath(at hcl.Range) tfdiags.Diagnostic {
	return tfdiags.Errorf("Invalid replace_triggered_by expression",
		"Each item of replace_triggered_by must be a reference to a resource, one of its instances or an attribute. "+
			"An index must be a constant, count.index or each.key.").At(at)
}

// checkTrigger returns an error for an item of replace_triggered_by that is not a path, or whose
// path can't exist: the key of an instance has the wrong type, or the schema doesn't have the rest.
// The rest of a path without references in its indexes is checked like any reference.
func checkTrigger(m *Module, e *lang.Expr) error {
	path, err := TriggerPath(e.Expression, unknownTriggerKey)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(path, func(step hcl.Traverser) bool {
		index, ok := step.(hcl.TraverseIndex)
		return ok && !index.Key.IsKnown()
	})
	known := at < 0
	if known {
		at = len(path)
	}
	ref, err := addrs.ParseRef(path[:at], addrs.ModuleScope)
	if err != nil {
		return err
	}
	rest := slices.Concat(ref.Remaining, path[at:])
	res, whole := ref.Subject.(addrs.Resource)
	key := addrs.NoKey.Value()
	if inst, ok := ref.Subject.(addrs.ResourceInstance); ok {
		res, key = inst.Resource, inst.Key.Value()
	} else if whole && !known && len(ref.Remaining) == 0 {
		key, rest = path[at].(hcl.TraverseIndex).Key, rest[1:]
	}
	r := m.Resources[res]
	if r == nil || r.Config == nil {
		return nil
	}
	if err := r.checkTriggerKey(key.Type(), e.Range()); err != nil || known {
		return err
	}
	return r.checkAttribute(rest)
}

// unknownTriggerKey returns an unknown value of the type of count.index or each.key.
func unknownTriggerKey(key hcl.Expression) (cty.Value, error) {
	if tr, _ := hcl.AbsTraversalForExpr(key); tr.RootName() == "count" {
		return cty.UnknownVal(cty.Number), nil
	}
	return cty.UnknownVal(cty.String), nil
}

// checkTriggerKey returns an error if the keys of the resource's instances can't be of the type
// given.
func (r *Resource) checkTriggerKey(given cty.Type, at hcl.Range) error {
	var keys string
	switch {
	case r.Config.Count != nil && given == cty.String:
		keys = "\"count\", so the keys of its instances are numbers"
	case r.Config.ForEach != nil && given == cty.Number:
		keys = "\"for_each\", so the keys of its instances are strings"
	default:
		return nil
	}
	return tfdiags.Errorf("Invalid replace_triggered_by expression",
		"%s has %s, and this index is a %s. It never selects an instance.", r.Addr.Resource, keys, given.FriendlyName()).
		At(at)
}
