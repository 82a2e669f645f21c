package configs

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/tfdiags"
)

// file holds the declarations of one source file, in source order. newModule merges the files of a
// directory.
type file struct {
	name           string
	errs, warnings tfdiags.Diagnostics

	requiredVersions  []*hcl.Attribute
	compatible        []compatible
	backends, clouds  []*Backend
	encryption        []*hcl.Block
	requiredProviders []*requiredProviders
	dynamic           []hcl.Expression // see Module
	symbols           []*hcl.Block     // symbols blocks
	symbolLibraries   bool             // whether the experiment is enabled
	providerMetas     []*ProviderMeta
	providers         []*Provider
	variables         []*Variable
	locals            []*Local
	outputs           []*Output
	calls             []*ModuleCall
	resources         []*Resource // including those in check blocks
	actions           []*Resource
	checks            []*Check
	moved             []*Moved
	rootMoves         []*RootMove
	lateMoves         []*lateMove
	imports           []*Import
	removed           []*Removed
}

// decoder decodes the blocks of one file and collects errors.
type decoder struct {
	file     *file
	source   []byte // text of the file
	override bool   // the file is an override file, so no argument is required
	known    requirementValues
	errs     tfdiags.Diagnostics
	warn     tfdiags.Sink
}

// decodeFile parses and decodes one file. After syntax errors it returns what could be decoded.
func (p *Parser) decodeFile(name string, override bool, part Part, values fileValues) *file {
	f := &file{name: name}
	d := &decoder{file: f, override: override, known: values.known, warn: f.warnings.Add}
	source, err := p.parseFile(name, part, values.symbols == nil)
	d.addError(err)
	d.source = p.Source(name)
	if source != nil {
		if body, ok := source.Body.(*hclsyntax.Body); ok && values.symbols != nil {
			d.addHCL(values.symbols.Rewrite(body))
		}
		content := d.content(source.Body, fileSchema)
		for _, block := range content.Blocks {
			if part != Settings || !declaresObjects(block.Type) {
				blockDecoders[block.Type](d, block)
			}
		}
	}
	f.errs = d.errs
	return f
}

// declaresObjects reports whether blocks of a type declare resources or data sources.
func declaresObjects(blockType string) bool {
	return blockType == "resource" || blockType == "data" || blockType == "ephemeral"
}

func (d *decoder) addError(err error) { d.errs = d.errs.AppendError(err) }

// addHCL adds diagnostics from HCL. All of them are errors.
func (d *decoder) addHCL(items hcl.Diagnostics) { d.errs = d.errs.AppendHCL(items) }

func (d *decoder) errorf(at hcl.Range, summary, detail string, args ...any) {
	d.errs.Add(tfdiags.Errorf(summary, detail, args...).At(at))
}

func (d *decoder) warnf(at hcl.Range, summary, detail string, args ...any) {
	d.warn(tfdiags.Warningf(summary, detail, args...).At(at))
}

// content decodes a body that must match the schema exactly.
func (d *decoder) content(body hcl.Body, schema *hcl.BodySchema) *hcl.BodyContent {
	content, diags := body.Content(schema)
	d.addHCL(diags)
	return content
}

// partial decodes the part of a body that matches the schema, and returns the remaining body. If
// nothing matches, the remaining body is the original one, because the remaining body that HCL
// creates keeps the names of the whole schema in memory.
func (d *decoder) partial(body hcl.Body, schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body) {
	if native, ok := body.(*hclsyntax.Body); ok && isRest(native, schema) {
		return &hcl.BodyContent{MissingItemRange: native.MissingItemRange()}, body
	}
	content, rest, diags := body.PartialContent(schema)
	d.addHCL(diags)
	return content, rest
}

// isRest reports whether no part of the body matches the schema. It returns false for a body with
// blocks, which it doesn't examine, and for a schema with required arguments, because HCL must
// report them if they are missing.
func isRest(body *hclsyntax.Body, schema *hcl.BodySchema) bool {
	if len(body.Blocks) > 0 {
		return false
	}
	for _, attr := range schema.Attributes {
		if _, given := body.Attributes[attr.Name]; given || attr.Required {
			return false
		}
	}
	return true
}

// constant decodes an expression without references into a Go value and reports whether it
// succeeded.
func (d *decoder) constant(attr *hcl.Attribute, into any) bool {
	diags := decodeConstant(attr.Expr, into)
	d.addHCL(diags)
	return !diags.HasErrors()
}

// decodeConstant decodes an expression without references. If it has any, the error says only that,
// and not also that its value is unknown.
func decodeConstant(expr hcl.Expression, into any) hcl.Diagnostics {
	if _, diags := expr.Value(nil); diags.HasErrors() {
		return diags
	}
	return gohcl.DecodeExpression(expr, nil, into)
}

// decodeOpt decodes an argument without references.
func decodeOpt[T any](d *decoder, attr *hcl.Attribute, into *Opt[T]) {
	into.Set = d.constant(attr, &into.Value)
}

// identifier reports whether the name in a block label is a valid identifier, and adds an error if
// not.
func (d *decoder) identifier(name string, at hcl.Range, what string) bool {
	if hclsyntax.ValidIdentifier(name) {
		return true
	}
	d.errorf(at, "Invalid "+what, "%s", identifierRule)
	return false
}

const identifierRule = "A name consists of letters, digits, underscores and dashes and starts with " +
	"a letter or an underscore."

// once tracks a kind of nested block that may appear only once in its parent.
type once struct{ first *hcl.Block }

// accept reports whether block is the first of its kind. It adds an error for each further block.
func (o *once) accept(d *decoder, block *hcl.Block, summary, parent string) bool {
	if o.first == nil {
		o.first = block
		return true
	}
	d.errorf(block.DefRange, summary, "%s already has a %s block at %s.", parent, block.Type,
		tfdiags.Place(o.first.DefRange))
	return false
}

// refuseOverride adds an error if the block is in an override file. It is called for blocks that
// can't override anything.
func (d *decoder) refuseOverride(block *hcl.Block) {
	if d.override {
		d.errorf(block.DefRange, "Cannot override '"+block.Type+"' blocks",
			"%q blocks can appear only in ordinary files, not in override files.", block.Type)
	}
}

// escape merges the body of a "_" block into the remaining body of its parent. The arguments in a
// "_" block are never meta-arguments.
func (d *decoder) escape(rest hcl.Body, o *once, block *hcl.Block, parent string) hcl.Body {
	if o.first != nil {
		d.errorf(block.DefRange, "Duplicate escaping block",
			"Only one \"_\" block is allowed in each %s block, and there is already one at %s.",
			parent, tfdiags.Place(o.first.DefRange))
		return rest
	}
	o.first = block
	return hcl.MergeBodies([]hcl.Body{rest, block.Body})
}

// reserved adds an error for a block type that is reserved for future use.
func (d *decoder) reserved(block *hcl.Block, parent string) {
	d.errorf(block.TypeRange, fmt.Sprintf("Reserved block type name in %s block", parent),
		"The block type name %q is reserved for a future version of the language. If the block "+
			"is not meant to be inside of this one, a closing brace is missing above it.", block.Type)
}
