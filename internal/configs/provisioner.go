package configs

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/lang/funcs"
)

var provisionerSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "when"}, {Name: "on_failure"}},
	Blocks:     []hcl.BlockHeaderSchema{{Type: "_"}, {Type: "connection"}, {Type: "lifecycle"}},
}

// ConnectionBody returns the provisioner's connection arguments, which override the resource's. It
// returns nil if neither the provisioner nor the resource has a connection block.
func (p *Provisioner) ConnectionBody(outer *Connection) hcl.Body {
	switch {
	case p.Connection == nil && outer == nil:
		return nil
	case p.Connection == nil:
		return outer.Config
	case outer == nil:
		return p.Connection.Config
	}
	return overrideBody(outer.Config, p.Connection.Config)
}

// removedProvisioners holds the provisioner types that no longer exist.
var removedProvisioners = map[string]bool{"chef": true, "habitat": true, "puppet": true, "salt-masterless": true}

// provisioner decodes a provisioner block. It returns nil for a removed type.
func (d *decoder) provisioner(block *hcl.Block) *Provisioner {
	typ := block.Labels[0]
	if removedProvisioners[typ] {
		d.errorf(block.LabelRanges[0], fmt.Sprintf("The %q provisioner has been removed", typ),
			"The %q provisioner no longer exists. Use \"local-exec\" or the tool itself.", typ)
		return nil
	}
	content, rest := d.partial(block.Body, provisionerSchema)
	p := &Provisioner{Type: typ, Config: rest, TypeRange: block.LabelRanges[0], Range: block.DefRange}
	if attr, ok := content.Attributes["when"]; ok {
		switch d.keyword(attr.Expr) {
		case "create":
		case "destroy":
			p.Destroy = true
		default:
			d.errorf(attr.Expr.Range(), "Invalid \"when\" keyword",
				"The \"when\" argument must be one of the keywords create and destroy.")
		}
	}
	if attr, ok := content.Attributes["on_failure"]; ok {
		switch d.keyword(attr.Expr) {
		case "fail":
		case "continue":
			p.Continue = true
		default:
			d.errorf(attr.Expr.Range(), "Invalid \"on_failure\" keyword",
				"The \"on_failure\" argument must be one of the keywords continue and fail.")
		}
	}
	var escaped, connection once
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "_":
			p.Config = d.escape(p.Config, &escaped, inner, "provisioner")
		case "connection":
			if connection.accept(d, inner, "Duplicate connection block", "This provisioner") {
				p.Connection = &Connection{Config: inner.Body, Range: inner.DefRange}
			}
		default:
			d.reserved(inner, "provisioner")
		}
	}
	return p
}

// destroyProvisioners checks the references of destroy-time provisioners. When they run, all
// objects other than the resource itself may be gone. The resource's connection block is checked
// too, because provisioners without a connection block use it.
func (d *decoder) destroyProvisioners(provisioners []*Provisioner, connection *Connection) {
	found := false
	for _, p := range provisioners {
		if !p.Destroy {
			continue
		}
		found = true
		d.onlyOwnReferences(p.Config)
		if p.Connection != nil {
			d.onlyOwnReferences(p.Connection.Config)
		}
	}
	if found && connection != nil {
		d.onlyOwnReferences(connection.Config)
	}
}

func (d *decoder) onlyOwnReferences(body hcl.Body) {
	attrs, _ := body.JustAttributes() // nested blocks can't be checked without the provisioner's schema
	for _, attr := range sortedAttributes(attrs) {
		for _, traversal := range funcs.Variables(attr.Expr) {
			ref, err := addrs.ParseRef(traversal, addrs.ModuleScope)
			if err == nil && ownReference(ref.Subject) {
				continue
			}
			d.errorf(attr.Expr.Range(), "Invalid reference from destroy provisioner",
				"Destroy-time provisioners and their connections may only refer to the object itself, with "+
					"self, count.index and each.key. Other objects may already be destroyed when they run.")
		}
	}
}

func ownReference(subject addrs.Referenceable) bool {
	switch subject := subject.(type) {
	case addrs.Self, addrs.CountAttr, addrs.PathAttr, addrs.TerraformAttr:
		return true
	case addrs.ForEachAttr:
		return subject.Name == "key"
	}
	return false
}
