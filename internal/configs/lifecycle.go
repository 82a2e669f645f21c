package configs

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang/funcs"
)

var lifecycleSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{
		{Name: "enabled"}, {Name: "create_before_destroy"}, {Name: "prevent_destroy"}, {Name: "destroy"},
		{Name: "ignore_changes"},
		{Name: "replace_triggered_by"}, {Name: "ignore_missing"},
	},
	Blocks: []hcl.BlockHeaderSchema{{Type: "precondition"}, {Type: "postcondition"}, {Type: "action_trigger"}},
}

// lifecycle decodes a resource's lifecycle block. It returns the enabled argument if present.
func (d *decoder) lifecycle(kind *resourceKind, r *Resource, block *hcl.Block) (repetition []*hcl.Attribute) {
	content := d.content(block.Body, lifecycleSchema)
	attrs := content.Attributes
	r.Lifecycle = new(Lifecycle)
	if attr, ok := attrs["enabled"]; ok {
		r.Enabled = attr.Expr
		repetition = append(repetition, attr)
	}
	missing, ok := attrs["ignore_missing"]
	switch {
	case ok && kind.mode != addrs.Data:
		d.errorf(missing.NameRange, "Invalid lifecycle argument",
			"The lifecycle argument \"ignore_missing\" is only supported for data sources (\"data\" blocks).")
	case ok && !d.late(r, missing):
		decodeOpt(d, missing, &r.Lifecycle.IgnoreMissing)
	}
	delete(attrs, "ignore_missing")
	if kind.mode == addrs.Managed {
		d.managedLifecycle(r, attrs)
	} else {
		d.refuseLifecycle(kind, block, attrs)
	}
	for _, inner := range content.Blocks {
		if inner.Type == "action_trigger" {
			if t := d.actionTrigger(kind, inner); t != nil {
				r.Lifecycle.ActionTriggers = append(r.Lifecycle.ActionTriggers, t)
			}
			continue
		}
		if d.override {
			d.errorf(inner.DefRange, fmt.Sprintf("Can't override %s blocks", inner.Type),
				"Override files cannot override %q blocks.", inner.Type)
			continue
		}
		rule, ok := d.checkRule(inner)
		d.checkSelfReference(r, rule, inner.Type)
		if !ok {
			continue
		}
		if inner.Type == "precondition" {
			r.Lifecycle.Preconditions = append(r.Lifecycle.Preconditions, rule)
		} else {
			r.Lifecycle.Postconditions = append(r.Lifecycle.Postconditions, rule)
		}
	}
	return repetition
}

func (d *decoder) managedLifecycle(r *Resource, attrs hcl.Attributes) {
	if attr, ok := attrs["create_before_destroy"]; ok && !d.late(r, attr) {
		decodeOpt(d, attr, &r.Lifecycle.CreateBeforeDestroy)
	}
	// The engine evaluates the expression, because it may contain references.
	if attr, ok := attrs["prevent_destroy"]; ok {
		r.Lifecycle.PreventDestroy = attr.Expr
	}
	if attr, ok := attrs["destroy"]; ok && !d.late(r, attr) {
		// Errors are kept and not reported here, because only planning needs the value. Null has
		// the same meaning as not setting the argument.
		inner := &decoder{}
		var destroy *bool
		if inner.constant(attr, &destroy) && destroy != nil {
			r.Lifecycle.Destroy = Opt[bool]{Value: *destroy, Set: true}
		}
		r.Lifecycle.DestroyProblem = inner.errs.Err()
	}
	if attr, ok := attrs["ignore_changes"]; ok && !d.lateIgnoreChanges(r, attr) {
		d.ignoreChanges(r, attr)
	}
	if attr, ok := attrs["replace_triggered_by"]; ok {
		d.replaceTriggers(r, attr)
	}
}

// refuseLifecycle adds errors for arguments that only managed resources support. In data blocks the
// error points to the argument, in ephemeral blocks to the lifecycle block.
func (d *decoder) refuseLifecycle(kind *resourceKind, block *hcl.Block, attrs hcl.Attributes) {
	for _, attr := range sortedAttributes(attrs) {
		if attr.Name == "enabled" {
			continue
		}
		at, summary := attr.NameRange, "Invalid data resource lifecycle argument"
		if kind.mode == addrs.Ephemeral {
			at, summary = block.DefRange, "Invalid lifecycle configuration for ephemeral resource"
		}
		d.errorf(at, summary,
			"The lifecycle argument %q is only supported for managed resources (\"resource\" blocks), not for "+
				"%s.", attr.Name, kind.plural)
	}
}

// ignoreChanges decodes the keyword all or a list of attribute paths.
func (d *decoder) ignoreChanges(r *Resource, attr *hcl.Attribute) {
	if hcl.ExprAsKeyword(attr.Expr) == "all" {
		r.Lifecycle.IgnoreAll = true
		return
	}
	exprs, diags := hcl.ExprList(attr.Expr)
	d.addHCL(diags)
	var wildcard *hcl.Range
	for _, expr := range exprs {
		// ["*"] is the old form of the keyword all. The general error for invalid references would
		// not mention the keyword.
		if isStar(expr) {
			rng := expr.Range()
			wildcard = &rng
			d.errorf(attr.Expr.Range(), "Invalid ignore_changes wildcard",
				"To ignore changes to all attributes, write \"ignore_changes = all\".")
			continue
		}
		traversal, diags := hcl.RelTraversalForExpr(d.unquote(expr, "references"))
		d.addReference(expr, diags)
		if len(traversal) > 0 {
			r.Lifecycle.IgnoreChanges = append(r.Lifecycle.IgnoreChanges, traversal)
		}
	}
	if wildcard != nil && len(r.Lifecycle.IgnoreChanges) > 0 {
		d.errorf(*wildcard, "Invalid ignore_changes ruleset", "The wildcard \"*\" can't be mixed with attribute names.")
	}
}

// isStar reports whether expr is the wildcard "*" of old configurations.
func isStar(expr hcl.Expression) bool {
	val, diags := expr.Value(nil)
	return !diags.HasErrors() && val.Type() == cty.String && val.IsKnown() && !val.IsNull() && val.AsString() == "*"
}

// replaceTriggers decodes the references in replace_triggered_by. Each item must refer to exactly
// one resource. The engine checks the attributes that follow.
func (d *decoder) replaceTriggers(r *Resource, attr *hcl.Attribute) {
	exprs, diags := hcl.ExprList(attr.Expr)
	d.addHCL(diags)
	for _, expr := range exprs {
		expr = d.nativeExpr(expr)
		if expr != nil && d.replaceTrigger(expr) {
			r.Lifecycle.ReplaceTriggeredBy = append(r.Lifecycle.ReplaceTriggeredBy, expr)
		}
	}
}

func (d *decoder) replaceTrigger(expr hcl.Expression) bool {
	resources := 0
	for _, traversal := range funcs.Variables(expr) {
		ref, err := addrs.ParseRef(traversal, addrs.ModuleScope)
		if err != nil {
			d.addError(err)
			return false
		}
		switch subject := ref.Subject.(type) {
		case addrs.Resource, addrs.ResourceInstance:
			resources++
		case addrs.ForEachAttr:
			if subject.Name != "key" {
				d.errorf(expr.Range(), "Invalid each reference in replace_triggered_by expression",
					"Only each.key can be used in replace_triggered_by, not other attributes of each.")
			}
		case addrs.CountAttr:
			if subject.Name != "index" {
				d.errorf(expr.Range(), "Invalid count reference in replace_triggered_by expression",
					"Only count.index can be used in replace_triggered_by, not other attributes of count.")
			}
		default:
			d.errorf(expr.Range(), "Invalid reference in replace_triggered_by expression",
				"Only references to resources are allowed in replace_triggered_by, with count.index or "+
					"each.key as instance key.")
		}
	}
	switch {
	case resources == 0:
		d.errorf(expr.Range(), "Invalid replace_triggered_by expression",
			"Each item of replace_triggered_by must refer to a resource.")
	case resources > 1:
		d.errorf(expr.Range(), "Invalid replace_triggered_by expression",
			"Each item of replace_triggered_by must refer to a single resource.")
	}
	return resources == 1
}
