package configs

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// resourceKind describes how the block of one resource mode is decoded.
type resourceKind struct {
	mode   addrs.ResourceMode
	block  string // the block type
	noun   string // name of the kind, for messages
	plural string
	schema *hcl.BodySchema
}

var commonAttributes = []hcl.AttributeSchema{{Name: "count"}, {Name: "for_each"}, {Name: "provider"},
	{Name: "depends_on"}}

// The schema of ephemeral resources includes the nested blocks that only managed resources support,
// so that using such a block causes a specific error. In data blocks, the provider's schema decides
// whether these blocks are valid. It normally rejects them.
var (
	managedKind = &resourceKind{addrs.Managed, "resource", "resource", "resources", &hcl.BodySchema{
		Attributes: commonAttributes,
		Blocks: []hcl.BlockHeaderSchema{{Type: "_"}, {Type: "lifecycle"}, {Type: "locals"}, {Type: "connection"},
			{Type: "provisioner", LabelNames: []string{"type"}}},
	}}
	dataKind = &resourceKind{addrs.Data, "data", "data source", "data sources", &hcl.BodySchema{
		Attributes: commonAttributes,
		Blocks:     []hcl.BlockHeaderSchema{{Type: "_"}, {Type: "lifecycle"}, {Type: "locals"}},
	}}
	ephemeralKind = &resourceKind{addrs.Ephemeral, "ephemeral", "ephemeral resource", "ephemeral resources",
		&hcl.BodySchema{
			Attributes: commonAttributes,
			Blocks: []hcl.BlockHeaderSchema{{Type: "_"}, {Type: "lifecycle"}, {Type: "locals"}, {Type: "connection"},
				{Type: "provisioner", LabelNames: []string{"type"}}},
		}}
)

func decodeManaged(d *decoder, block *hcl.Block)   { d.resource(managedKind, block, nil) }
func decodeData(d *decoder, block *hcl.Block)      { d.resource(dataKind, block, nil) }
func decodeEphemeral(d *decoder, block *hcl.Block) { d.resource(ephemeralKind, block, nil) }

// resource decodes a resource block of any kind. check is the check block that contains it, or nil.
func (d *decoder) resource(kind *resourceKind, block *hcl.Block, check *Check) *Resource {
	before := len(d.errs)
	content, rest := d.partial(block.Body, kind.schema)
	r := d.resourceHead(kind, block)
	r.Config, r.Check = rest, check
	// At most one of these arguments may be set. enabled is in the lifecycle block.
	repetition := d.resourceArguments(r, content)
	var escaped, lifecycle, connection once
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "_":
			r.Config = d.escape(r.Config, &escaped, inner, kind.block)
		case "locals":
			d.reserved(inner, kind.block)
		case "lifecycle":
			if check != nil {
				d.errorf(inner.DefRange, "Invalid lifecycle block",
					"Data blocks within a check block can't have a \"lifecycle\" block.")
			} else if lifecycle.accept(d, inner, "Duplicate lifecycle block", "This "+kind.noun) {
				repetition = append(repetition, d.lifecycle(kind, r, inner)...)
			}
		case "connection":
			if d.managedOnly(kind, inner) && connection.accept(d, inner,
				"Duplicate connection block", "This "+kind.noun) {
				r.Connection = &Connection{Config: inner.Body, Range: inner.DefRange}
			}
		case "provisioner":
			if d.managedOnly(kind, inner) {
				if p := d.provisioner(inner); p != nil {
					r.Provisioners = append(r.Provisioners, p)
				}
			}
		}
	}
	d.oneRepetition(repetition, kind.plural)
	d.destroyProvisioners(r.Provisioners, r.Connection)
	// Outside of check blocks, a resource with errors is declared too, so that references to it
	// don't cause further errors.
	if check == nil || len(d.errs) == before {
		d.file.resources = append(d.file.resources, r)
	}
	return r
}

// resourceHead returns a resource with what the header of its block says.
func (d *decoder) resourceHead(kind *resourceKind, block *hcl.Block) *Resource {
	r := &Resource{
		Addr:      addrs.Resource{Mode: kind.mode, Type: block.Labels[0], Name: block.Labels[1]},
		Lifecycle: &noLifecycle, TypeRange: block.LabelRanges[0], Range: block.DefRange,
	}
	d.identifier(r.Addr.Type, block.LabelRanges[0], kind.noun+" type name")
	d.identifier(r.Addr.Name, block.LabelRanges[1], kind.noun+" name")
	return r
}

// resourceArguments decodes the meta-arguments and returns those that set the number of instances.
func (d *decoder) resourceArguments(r *Resource, content *hcl.BodyContent) (repetition []*hcl.Attribute) {
	attrs := content.Attributes
	for _, one := range []struct {
		name string
		into *hcl.Expression
	}{{"count", &r.Count}, {"for_each", &r.ForEach}} {
		attr, ok := attrs[one.name]
		if !ok {
			continue
		}
		if r.Check != nil {
			d.errorf(attr.NameRange, fmt.Sprintf("Invalid %q attribute", one.name),
				"The argument %q is not supported in data blocks within a check block.", one.name)
			continue
		}
		*one.into = attr.Expr
		repetition = append(repetition, attr)
	}
	if attr, ok := attrs["provider"]; ok {
		r.Provider = d.providerRef(attr.Expr, "provider")
	} else if name := r.Addr.ImpliedProvider(); hclsyntax.ValidIdentifier(r.Addr.Type) {
		if _, err := addrs.ParseProviderPart(name); err != nil {
			d.errorf(r.Range, "Invalid provider local name",
				"The type %q implies the provider local name %q, which is invalid: %s.", r.Addr.Type, name, err)
		}
	}
	if attr, ok := attrs["depends_on"]; ok {
		r.DependsOn, r.lateDependsOn = d.dependsOn(attr)
	}
	return repetition
}

// managedOnly adds an error if a block for managed resources is in a block of another kind.
func (d *decoder) managedOnly(kind *resourceKind, block *hcl.Block) bool {
	if kind.mode == addrs.Managed {
		return true
	}
	d.errorf(block.DefRange, "Invalid configuration block for "+kind.noun,
		"%s can't have %q blocks, which are only supported for managed resources (\"resource\" blocks).",
		tfdiags.Capitalize(kind.plural), block.Type)
	return false
}
