package configs

import (
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
)

var (
	removedSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "from", Required: true}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "lifecycle"}, {Type: "provisioner", LabelNames: []string{"type"}}},
	}
	removedLifecycleSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "destroy"}}}
)

func decodeRemoved(d *decoder, block *hcl.Block) {
	before := len(d.errs)
	content := d.content(block.Body, removedSchema)
	r := &Removed{Range: block.DefRange}
	if attr, ok := content.Attributes["from"]; ok {
		d.removedFrom(r, attr.Expr)
	}
	var lifecycle once
	for _, inner := range content.Blocks {
		if inner.Type == "provisioner" {
			d.removedProvisioner(r, inner)
			continue
		}
		if !lifecycle.accept(d, inner, "Duplicate lifecycle block", "The removed block") {
			continue
		}
		if attr, ok := d.content(inner.Body, removedLifecycleSchema).Attributes["destroy"]; ok {
			decodeOpt(d, attr, &r.Destroy)
		}
	}
	d.destroyProvisioners(r.Provisioners, nil)
	defer d.refuseOverride(block)
	if len(d.errs) > before {
		return
	}
	if r.From.IsModule() && len(r.Provisioners) > 0 {
		d.errorf(block.DefRange, "Invalid \"removed\" block",
			"Only removed blocks for resources can have provisioners. This one is for a module.")
		return
	}
	if !r.Destroy.Set {
		d.warnf(block.DefRange, "Missing lifecycle from the removed block",
			"Without a \"destroy\" argument the objects are removed from the state but not destroyed. Add "+
				"lifecycle { destroy = … } to choose whether to destroy them.")
	}
	if len(r.Provisioners) > 0 && r.Destroy.Set && !r.Destroy.Value {
		d.warnf(block.DefRange, "Removed block provisioners will not be executed",
			"The objects are removed from the state without being destroyed, so their provisioners do not run.")
	}
	if !d.override {
		d.file.removed = append(d.file.removed, r)
	}
}

func (d *decoder) removedProvisioner(r *Removed, block *hcl.Block) {
	p := d.provisioner(block)
	if p == nil {
		return
	}
	if !p.Destroy {
		d.errorf(block.DefRange, "Invalid \"removed.provisioner\" block",
			"Provisioners in removed blocks must be destroy-time provisioners. Set when = destroy.")
	}
	r.Provisioners = append(r.Provisioners, p)
}

// removedFrom decodes the address of a module or managed resource without instance keys.
func (d *decoder) removedFrom(r *Removed, expr hcl.Expression) {
	r.FromRange = expr.Range()
	traversal, diags := hcl.AbsTraversalForExpr(expr)
	d.addReference(expr, diags)
	if diags.HasErrors() {
		return
	}
	target, err := addrs.ParseTarget(traversal)
	if err != nil {
		d.addError(err)
		return
	}
	for i, step := range traversal {
		index, ok := step.(hcl.TraverseIndex)
		switch {
		case !ok:
		case target.HasKey && i == len(traversal)-1:
			d.errorf(index.SrcRange, "Resource instance address with keys is not allowed",
				"A removed block must refer to a whole resource, such as aws_instance.web, not to an instance of it.")
		default:
			d.errorf(index.SrcRange, "Module instance address with keys is not allowed",
				"A removed block must refer to a whole module, such as module.network, not to an instance of it.")
		}
	}
	switch target.Resource.Mode {
	// A removed block decides whether to destroy or forget objects, which has no meaning for data
	// sources and ephemeral resources.
	case addrs.Data:
		d.errorf(expr.Range(), "Data source address is not allowed",
			"Data sources can't be destroyed, so a removed block can't refer to one. Delete this block. A data "+
				"source leaves the state when its data block is deleted.")
	case addrs.Ephemeral:
		d.errorf(expr.Range(), "Ephemeral resource address is not allowed",
			"Ephemeral resources are not stored in the state, so a removed block can't refer to one. Delete this block.")
	}
	r.From = target
}
