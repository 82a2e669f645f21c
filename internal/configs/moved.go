package configs

import (
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
)

var movedSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "from", Required: true},
	{Name: "to", Required: true}}}

// decodeMoved decodes a moved block. How it relates to other moves can be checked only when the
// whole tree is loaded.
func decodeMoved(d *decoder, block *hcl.Block) {
	before := len(d.errs)
	content := d.content(block.Body, movedSchema)
	m := &Moved{Range: block.DefRange}
	for _, end := range []struct {
		name string
		addr *addrs.Target
		rng  *hcl.Range
	}{{"from", &m.From, &m.FromRange}, {"to", &m.To, &m.ToRange}} {
		attr, ok := content.Attributes[end.name]
		if ok {
			*end.rng = attr.Expr.Range()
			ok = d.target(attr.Expr, end.addr)
		}
		if !ok || end.addr.Resource.Mode == addrs.Ephemeral {
			d.errorf(block.DefRange, "Invalid \"moved\" address",
				"The argument %q must be the address of a resource or module that can be moved. Ephemeral "+
					"resources can't.", end.name)
		}
	}
	if d.override || len(d.errs) > before {
		d.refuseOverride(block)
		return
	}
	if m.From.IsModule() != m.To.IsModule() {
		d.errorf(block.DefRange, "Invalid \"moved\" addresses",
			"A resource can't be moved to a module address, or a module to a resource address. \"from\" and "+
				"\"to\" must be of the same kind.")
		return
	}
	d.file.moved = append(d.file.moved, m)
}

// target decodes the address of a module, resource or instance, written as a static reference.
func (d *decoder) target(expr hcl.Expression, into *addrs.Target) bool {
	traversal, diags := hcl.AbsTraversalForExpr(expr)
	d.addHCL(diags)
	if diags.HasErrors() {
		return false
	}
	target, err := addrs.ParseTarget(traversal)
	d.addError(err)
	*into = target
	return err == nil
}
