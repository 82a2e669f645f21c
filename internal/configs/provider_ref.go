package configs

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
)

// providerRef decodes a reference to a provider configuration: "name", "name.alias" or
// "name.alias[key]", whose key may be any expression. If expr is not such a reference, it adds an
// error, and returns nil or the valid part. argument is the name of the argument, for messages.
func (d *decoder) providerRef(expr hcl.Expression, argument string) *ProviderRef {
	const summary = "Invalid provider configuration reference"
	expr = d.nativeExpr(expr)
	if expr == nil {
		return nil
	}
	var key hcl.Expression
	if index, ok := expr.(*hclsyntax.IndexExpr); ok {
		expr, key = index.Collection, index.Key
	}
	expr = d.unquote(expr, "references")
	traversal, diags := hcl.AbsTraversalForExpr(expr)
	if diags.HasErrors() || len(traversal) > 3 {
		d.errorf(expr.Range(), summary,
			"The %s argument must refer to a provider configuration as NAME or NAME.ALIAS, followed by an "+
				"instance key in brackets if it has for_each.", argument)
		return nil
	}
	ref := &ProviderRef{Name: traversal.RootName(), NameRange: traversal[0].SourceRange(), Key: key}
	if !d.providerName(ref.Name, ref.NameRange) {
		return nil
	}
	if len(traversal) == 1 {
		if key != nil {
			d.errorf(expr.Range(), summary, "An instance key requires an alias: %s.ALIAS[KEY].", ref.Name)
			return nil
		}
		return ref
	}
	alias, ok := traversal[1].(hcl.TraverseAttr)
	if !ok {
		d.errorf(traversal[1].SourceRange(), summary,
			"A provider name can only be followed by a period and a configuration alias.")
		return ref
	}
	ref.Alias, ref.AliasRange = alias.Name, &alias.SrcRange
	if len(traversal) == 2 {
		return ref
	}
	if index, ok := traversal[2].(hcl.TraverseIndex); ok && len(traversal) == 3 && key == nil {
		ref.Key = &hclsyntax.LiteralValueExpr{Val: index.Key, SrcRange: index.SrcRange}
		return ref
	}
	d.errorf(traversal[2].SourceRange(), summary,
		"A provider reference must end after the alias, or after one instance key in brackets.")
	return ref
}

// expectNoKey reports an error if a reference to a whole configuration has an instance key.
func (d *decoder) expectNoKey(ref *ProviderRef) {
	if ref != nil && ref.Key != nil {
		d.errorf(ref.Key.Range(), "Invalid provider configuration reference", "%s", fmt.Sprintf(
			"An instance key is not allowed here: %s is a name within the called module.", ref.Local()))
	}
}

// String returns the reference as it is written in configuration. It leaves out a key that is not constant.
func (r *ProviderRef) String() string {
	if r.Key != nil {
		if v, diags := r.Key.Value(nil); !diags.HasErrors() {
			if key, err := addrs.KeyFromValue(v); err == nil {
				return r.Local().String() + key.String()
			}
		}
	}
	return r.Local().String()
}
