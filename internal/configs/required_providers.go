package configs

import (
	"errors"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/tfdiags"
)

// requiredProviders holds the entries of a required_providers block.
type requiredProviders struct {
	entries []*RequiredProvider // in source order
	rng     hcl.Range
}

func decodeStrayRequiredProviders(d *decoder, block *hcl.Block) {
	d.errorf(block.DefRange, "Invalid required_providers block", "Move the block into a \"terraform\" block.")
}

func decodeRequiredProviders(d *decoder, block *hcl.Block) *requiredProviders {
	out := &requiredProviders{rng: block.DefRange}
	attrs, diags := block.Body.JustAttributes()
	d.addHCL(diags)
	// After errors, attrs may lack entries, so the block is treated as empty.
	if diags.HasErrors() {
		return out
	}
	for _, attr := range sortedAttributes(attrs) {
		if req := d.requiredProvider(attr); req != nil {
			out.entries = append(out.entries, req)
		}
	}
	return out
}

// requiredProvider decodes one entry. It returns nil if the entry has errors.
func (d *decoder) requiredProvider(attr *hcl.Attribute) *RequiredProvider {
	before := len(d.errs)
	req := &RequiredProvider{LocalName: attr.Name, Range: attr.Expr.Range()}
	if !d.providerName(attr.Name, attr.Expr.Range()) {
		return nil
	}
	pairs, diags := hcl.ExprMap(attr.Expr)
	if diags.HasErrors() { // old form: only a version constraint, for a provider in the default namespace
		d.requiredVersionOnly(attr, req)
	} else {
		for _, pair := range pairs {
			if !d.requiredProviderArgument(req, pair) {
				break
			}
		}
	}
	if len(d.errs) > before {
		return nil
	}
	if req.Provider.IsZero() {
		req.Provider = addrs.DefaultProvider(attr.Name)
	}
	return req
}

func (d *decoder) requiredVersionOnly(attr *hcl.Attribute, req *RequiredProvider) {
	if d.dynamic(attr.Expr, func(text string) {
		d.providerConstraint(req, cty.StringVal(text), attr.Expr.Range())
	}) {
		return
	}
	val, diags := attr.Expr.Value(nil)
	if !diags.HasErrors() && !val.IsNull() && val.Type() == cty.Number {
		val, _ = convert.Convert(val, cty.String)
	}
	if diags.HasErrors() || val.Type() != cty.String || val.IsNull() {
		d.errorf(attr.Expr.Range(), "Invalid required_providers object",
			"A provider requirement must be an object, or a string with a version constraint, without references "+
				"to other values.")
		return
	}
	d.providerConstraint(req, val, attr.Expr.Range())
}

// requiredProviderArgument decodes one argument of an entry and reports whether its name is valid.
func (d *decoder) requiredProviderArgument(req *RequiredProvider, pair hcl.KeyValuePair) bool {
	key, diags := pair.Key.Value(nil)
	if diags.HasErrors() {
		d.addHCL(diags)
		return false
	}
	at := pair.Value.Range()
	word := ""
	if key.Type() == cty.String && !key.IsNull() && key.IsKnown() {
		word = key.AsString()
	}
	switch word {
	case "version":
		if d.dynamic(pair.Value, func(text string) { d.providerConstraint(req, cty.StringVal(text), at) }) {
			return true
		}
		val, diags := pair.Value.Value(nil)
		if diags.HasErrors() || val.Type() != cty.String || val.IsNull() {
			d.errorf(at, "Invalid version constraint", "The version must be a string without references to other values.")
			return true
		}
		d.providerConstraint(req, val, at)
	case "source":
		if d.dynamic(pair.Value, func(text string) { d.providerSource(req, text, at) }) {
			req.dynamicSource = true
			return true
		}
		val, diags := pair.Value.Value(nil)
		if diags.HasErrors() || val.Type() != cty.String || val.IsNull() {
			d.errorf(at, "Invalid source", "The source must be a string without references to other values.")
			return true
		}
		d.providerSource(req, val.AsString(), at)
	case "configuration_aliases":
		d.configurationAliases(req, pair.Value)
	default:
		d.errorf(pair.Key.Range(), "Invalid required_providers object",
			"The objects in required_providers support only the attributes \"version\", \"source\" and "+
				"\"configuration_aliases\". To configure a provider, use a \"provider\" block.")
		return false
	}
	return true
}

func (d *decoder) providerSource(req *RequiredProvider, text string, at hcl.Range) {
	provider, err := addrs.ParseProvider(text)
	if err != nil {
		d.errorf(at, "Invalid provider source", "%s", tfdiags.Sentence(err))
		return
	}
	req.Provider = provider
}

// badConstraint is the message for an invalid version constraint and the reason.
const badConstraint = "%q is not a valid version constraint: %s. Write it as in \">= 1.2, < 2.0\"."

// looseConstraint matches version constraints and similar text: versions with a "v" prefix or with
// any number of parts.
var looseConstraint = func() *regexp.Regexp {
	const part = `\s*(?:=|!=|>=|<=|>|<|~>)?\s*v?[0-9]+(?:\.[0-9]+)*(?:-[0-9A-Za-z.~-]+)?(?:\+[0-9A-Za-z.~-]+)?\s*`
	return regexp.MustCompile("^" + part + "(?:," + part + ")*$")
}()

func (d *decoder) providerConstraint(req *RequiredProvider, val cty.Value, at hcl.Range) {
	spec, err := ParseConstraints(val.AsString())
	if err != nil {
		if looseConstraint.MatchString(val.AsString()) {
			at = req.Range
		}
		d.errorf(at, "Invalid version constraint", badConstraint, val.AsString(), err)
		return
	}
	req.Constraints, req.VersionText, req.VersionRange = spec, val.AsString(), at
}

func (d *decoder) configurationAliases(req *RequiredProvider, expr hcl.Expression) {
	exprs, diags := hcl.ExprList(expr)
	d.addHCL(diags)
	for _, one := range exprs {
		traversal, diags := hcl.AbsTraversalForExpr(one)
		if diags.HasErrors() {
			d.addHCL(diags)
			continue
		}
		local := addrs.LocalProviderConfig{LocalName: traversal.RootName()}
		if len(traversal) > 1 {
			local.Alias = addrs.StepName(traversal[1])
		}
		if local.LocalName != req.LocalName {
			d.errorf(expr.Range(), "Invalid configuration_aliases value",
				"Configuration aliases must start with the local name of the provider: %s.NAME, not %s.NAME.",
				req.LocalName, local.LocalName)
			continue
		}
		req.Aliases = append(req.Aliases, local)
	}
}

var errEmptyConstraint = errors.New("the constraint is empty")

// ParseConstraints parses version constraints, such as ">= 1.2, < 2.0".
func ParseConstraints(text string) (depsfile.Constraints, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errEmptyConstraint
	}
	return depsfile.ParseConstraints(text)
}
