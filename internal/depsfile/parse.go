package depsfile

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
	"tofu/internal/lang/nesting"
	"tofu/internal/tfdiags"
)

// Load reads a lock file. If the file doesn't exist, the locks are empty.
func Load(path string, warn tfdiags.Sink) (*Locks, error) {
	src, err := atomicfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Locks{}, nil
	}
	if err != nil {
		return nil, tfdiags.Errorf("Failed to read dependency lock file",
			"The lock file can't be read: %s.", err) // err names the file
	}
	return Parse(src, path, warn)
}

// Parse parses the content of a lock file; filename is used in diagnostics.
func Parse(src []byte, filename string, warn tfdiags.Sink) (*Locks, error) {
	f, diags := nesting.Parse(filename, src)
	if err := tfdiags.FromHCL(diags).Report(warn); err != nil {
		return nil, err
	}
	p := parser{providers: make(map[addrs.Provider]Lock), places: make(map[addrs.Provider]hcl.Range)}
	body := f.Body.(*hclsyntax.Body)
	for _, attr := range sortedAttributes(body) {
		p.unexpected(attr)
	}
	for _, block := range body.Blocks {
		switch block.Type {
		case "provider":
			p.provider(block)
		case "module":
			warn(tfdiags.Warningf("Dependency locks for modules are not supported in this file",
				"The block is ignored, and will be lost when the file is written.").At(block.TypeRange))
		default:
			p.errorf(block.TypeRange, "Unsupported block type", "Blocks of type %q are not expected here.", block.Type)
		}
	}
	if err := p.errs.Err(); err != nil {
		return nil, err
	}
	return &Locks{p.providers}, nil
}

type parser struct {
	providers map[addrs.Provider]Lock
	places    map[addrs.Provider]hcl.Range
	errs      tfdiags.Diagnostics
}

func (p *parser) errorf(rng hcl.Range, summary, detail string, args ...any) {
	p.errs = p.errs.Append(tfdiags.Errorf(summary, detail, args...).At(rng))
}

func (p *parser) unexpected(attr *hclsyntax.Attribute) {
	p.errorf(attr.NameRange, "Unsupported argument", "An argument named %q is not expected here.", attr.Name)
}

func (p *parser) provider(block *hclsyntax.Block) {
	if len(block.Labels) != 1 {
		p.errorf(block.TypeRange, "Invalid provider lock",
			"A provider block must have exactly one label: the provider's source address.")
		return
	}
	addr, ok := p.address(block.Labels[0], block.LabelRanges[0])
	if !ok {
		return
	}
	if first, twice := p.places[addr]; twice {
		p.errorf(block.LabelRanges[0], "Duplicate provider lock",
			"There is already a lock for provider %s at %s.", addr, first)
		return
	}
	p.places[addr] = block.LabelRanges[0]
	for _, nested := range block.Body.Blocks {
		p.errorf(nested.TypeRange, "Unsupported block type", "Blocks of type %q are not expected here.", nested.Type)
	}
	var lock Lock
	hasVersion := false
	for _, attr := range sortedAttributes(block.Body) {
		switch attr.Name {
		case "version":
			hasVersion = true
			lock.Version = p.version(addr, attr)
		case "constraints":
			lock.Constraints = p.constraints(addr, attr)
		case "hashes":
			lock.Hashes = p.hashes(attr)
		default:
			p.unexpected(attr)
		}
	}
	if !hasVersion {
		p.errorf(block.LabelRanges[0], "Missing version", "The lock for provider %s has no \"version\".", addr)
	}
	p.providers[addr] = lock
}

func (p *parser) address(label string, rng hcl.Range) (addrs.Provider, bool) {
	const summary = "Invalid provider source address"
	addr, err := addrs.ParseProvider(label)
	switch {
	case err != nil:
		p.errorf(rng, summary, "The label of a provider lock must be a full source address, "+
			"\"hostname/namespace/type\": %s.", err)
	case addr.String() != label || addr.Namespace == "-":
		p.errorf(rng, summary, "The label of a provider lock must be a full source address in normal form, "+
			"\"hostname/namespace/type\", not %q.", label)
	case addr.IsBuiltin():
		p.errorf(rng, summary, "Provider %s is built in and can't be locked.", label)
	default:
		return addr, true
	}
	return addr, false
}

func (p *parser) version(addr addrs.Provider, attr *hclsyntax.Attribute) Version {
	text, ok := p.text(attr)
	if !ok {
		return Version{}
	}
	v, err := ParseVersion(text)
	if err != nil || v.String() != text {
		p.errorf(attr.Expr.Range(), "Invalid provider version number",
			"The version of provider %s must be complete, like \"1.2.0\", not %q.", addr, text)
	}
	return v
}

func (p *parser) constraints(addr addrs.Provider, attr *hclsyntax.Attribute) Constraints {
	text, ok := p.text(attr)
	if !ok {
		return nil
	}
	c, err := ParseConstraints(text)
	if err != nil {
		p.errorf(attr.Expr.Range(), "Invalid provider version constraints",
			"The constraints of provider %s are not valid: %s.", addr, err)
		return nil
	}
	if normal := ConstraintsString(c); normal != text {
		p.errorf(attr.Expr.Range(), "Invalid provider version constraints",
			"The constraints of provider %s must be written in normal form: %q.", addr, normal)
	}
	return c
}

func (p *parser) hashes(attr *hclsyntax.Attribute) []Hash {
	list, ok := attr.Expr.(*hclsyntax.TupleConsExpr)
	if !ok {
		p.errorf(attr.Expr.Range(), "Invalid provider hash set", "\"hashes\" must be a list of strings.")
		return nil
	}
	if len(list.Exprs) == 0 {
		p.errorf(attr.Expr.Range(), "Invalid provider hash set",
			"\"hashes\" must contain at least one hash if it is set.")
		return nil
	}
	hashes := make([]Hash, 0, len(list.Exprs))
	for _, expr := range list.Exprs {
		text, ok := p.literal(expr)
		if !ok {
			continue
		}
		h, err := ParseHash(text)
		if err != nil {
			p.errorf(expr.Range(), "Invalid provider hash string", "The hash isn't valid: %s.", err)
			continue
		}
		hashes = append(hashes, h)
	}
	return hashes
}

func (p *parser) text(attr *hclsyntax.Attribute) (string, bool) { return p.literal(attr.Expr) }

// literal returns the value of a literal string. Any other expression is an error. Numbers are not
// accepted, because the version 1.10 written as a number is the same as 1.1.
func (p *parser) literal(expr hclsyntax.Expression) (string, bool) {
	v, diags := expr.Value(nil)
	if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		p.errorf(expr.Range(), "Invalid value", "A string in quotes is required here, without variables or functions.")
		return "", false
	}
	return v.AsString(), true
}

// sortedAttributes returns the arguments of a body in source order, so that errors are in that
// order too.
func sortedAttributes(body *hclsyntax.Body) []*hclsyntax.Attribute {
	return slices.SortedFunc(maps.Values(body.Attributes), func(a, b *hclsyntax.Attribute) int {
		return cmp.Compare(a.SrcRange.Start.Byte, b.SrcRange.Start.Byte)
	})
}
