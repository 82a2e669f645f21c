package configs

import (
	"cmp"

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
	var fromRoot, toRoot string
	for _, end := range []struct {
		name string
		addr *addrs.Target
		root *string
		rng  *hcl.Range
	}{{"from", &m.From, &fromRoot, &m.FromRange}, {"to", &m.To, &toRoot, &m.ToRange}} {
		attr, ok := content.Attributes[end.name]
		if ok {
			*end.rng = attr.Expr.Range()
			*end.root, ok = d.rootTarget(attr.Expr, end.addr)
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
	switch {
	case fromRoot != "" && toRoot != "":
		d.errorf(block.DefRange, "Invalid \"moved\" addresses", "Only one of \"from\" and \"to\" can be in another root "+
			"module. Write the block in one of the two, without root[…] before the address there.")
	case fromRoot != "" || toRoot != "":
		d.file.rootMoves = append(d.file.rootMoves, &RootMove{Root: cmp.Or(fromRoot, toRoot), Leaves: toRoot != "",
			From: m.From, To: m.To, Range: m.Range})
	default:
		d.file.moved = append(d.file.moved, m)
	}
}

// rootTarget decodes the address of a module, resource or instance, written as a static reference that may
// begin with the name of another root module.
func (d *decoder) rootTarget(expr hcl.Expression, into *addrs.Target) (root string, ok bool) {
	traversal, diags := hcl.AbsTraversalForExpr(expr)
	d.addHCL(diags)
	if diags.HasErrors() {
		return "", false
	}
	root, target, err := addrs.ParseRootTarget(traversal)
	d.addError(err)
	*into = target
	return root, err == nil
}
