package configs

import (
	"errors"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
)

var importSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "to", Required: true}, {Name: "id"}, {Name: "identity"},
		{Name: "for_each"}, {Name: "provider"}, {Name: "ignore_missing"}},
}

func decodeImport(d *decoder, block *hcl.Block) {
	content := d.content(block.Body, importSchema)
	im := &Import{Range: block.DefRange}
	attrs := content.Attributes
	id, hasID := attrs["id"]
	identity, hasIdentity := attrs["identity"]
	switch {
	case hasID && hasIdentity:
		d.errorf(hcl.RangeBetween(first(id.Range, identity.Range), last(id.Range, identity.Range)),
			"Conflicting import arguments",
			"Only one of \"id\" and \"identity\" can be set.")
	case !hasID && !hasIdentity:
		d.errorf(block.DefRange, "Missing required import argument",
			"One of \"id\" and \"identity\" must be set to identify the object to import.")
	}
	if hasID {
		im.ID = id.Expr
	}
	if hasIdentity {
		im.Identity = identity.Expr
	}
	if attr, ok := attrs["for_each"]; ok {
		im.ForEach = attr.Expr
		if _, native := attr.Expr.(hclsyntax.Expression); native {
			im.ForEachText = string(attr.Expr.Range().SliceBytes(d.source))
		}
	}
	if attr, ok := attrs["ignore_missing"]; ok {
		d.constant(attr, &im.IgnoreMissing)
	}
	to, ok := attrs["to"]
	if !ok || !d.importTarget(im, to.Expr) {
		return
	}
	if attr, ok := attrs["provider"]; ok {
		// The provider argument is for generated configuration, which exists only in the root
		// module.
		if !im.ToResource.Module.IsRoot() {
			d.errorf(attr.Range, "Invalid import provider argument",
				"The provider argument is only allowed in import blocks for root module resources. To pass a "+
					"provider configuration to a module, use the providers argument of its module block.")
		}
		im.Provider, im.providerRange = d.providerRef(attr.Expr, "provider"), attr.Range
	}
	if d.override {
		d.refuseOverride(block)
		return
	}
	d.file.imports = append(d.file.imports, im)
}

// importTarget decodes the "to" address, in which instance keys may be arbitrary expressions.
func (d *decoder) importTarget(im *Import, expr hcl.Expression) bool {
	expr = d.nativeExpr(expr)
	if expr == nil {
		return false
	}
	im.To = expr
	traversal, literal, err := Address(expr, anyKey)
	if err != nil {
		d.errorf(expr.Range(), "Invalid import address expression",
			"The target must be the address of a resource or resource instance. Only the keys in brackets may "+
				"be expressions, as in module.a[expr].type.name[expr].")
		return false
	}
	target, err := addrs.ParseTarget(traversal)
	if err == nil && target.IsModule() {
		d.errorf(expr.Range(), "Invalid address",
			"This is the address of a module. Add the address of the resource to import.")
		return false
	}
	if err != nil {
		d.addError(err)
		return false
	}
	im.ToResource = target.Resource.In(target.Module.Module())
	im.Keyed = target.Key != addrs.NoKey
	if literal { // with dynamic keys, duplicates are detected only during planning
		im.static = &addrs.AbsInstance{Module: target.Module, Resource: target.Resource, Key: target.Key}
	}
	return true
}

// Address converts the expression of an address, in which keys may be expressions, into a traversal. If a
// key is not a literal, the traversal has the result of key instead, and literal is false. The error is
// ErrNoAddress if expr is not an address, or else the first error of key.
func Address(expr hcl.Expression, key func(hcl.Expression) (cty.Value, error)) (
	tr hcl.Traversal, literal bool, err error,
) {
	switch expr := expr.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return expr.Traversal, true, nil
	case *hclsyntax.IndexExpr:
		if tr, _, err = Address(expr.Collection, key); err != nil {
			return nil, false, err
		}
		v, err := key(expr.Key)
		return append(slices.Clip(tr), hcl.TraverseIndex{Key: v, SrcRange: expr.BracketRange}), false, err
	case *hclsyntax.RelativeTraversalExpr:
		tr, literal, err = Address(expr.Source, key)
		return append(slices.Clip(tr), expr.Traversal...), literal, err
	}
	return nil, false, ErrNoAddress
}

// ErrNoAddress is the error of [Address] for other expressions than addresses.
var ErrNoAddress = errors.New("not an address")

// anyKey returns a key in place of one that isn't known yet.
func anyKey(hcl.Expression) (cty.Value, error) { return cty.StringVal("any"), nil }

func first(a, b hcl.Range) hcl.Range {
	if a.Start.Byte <= b.Start.Byte {
		return a
	}
	return b
}

func last(a, b hcl.Range) hcl.Range {
	if a.Start.Byte <= b.Start.Byte {
		return b
	}
	return a
}
