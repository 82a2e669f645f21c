package encryption

import (
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/configs"
	"tofu/internal/lang/nesting"
	"tofu/internal/tfdiags"
)

// block holds a block's arguments. Arguments of later bodies override those of earlier ones.
type block struct {
	rng    hcl.Range
	attrs  map[string]*hcl.Attribute
	nested hcl.Blocks
}

// without returns a copy of b that lacks an argument.
func (b *block) without(name string) *block {
	attrs := maps.Clone(b.attrs)
	delete(attrs, name)
	return &block{b.rng, attrs, b.nested}
}

// targetBlock is a state, plan, fallback or remote state block.
type targetBlock struct {
	block
	fallback *targetBlock
}

// document is the merged content of all encryption bodies. The map keys of key providers and
// methods have the form "type.name".
type document struct {
	keyProviders, methods    map[string]*block
	state, plan, otherStates *targetBlock
	named                    map[string]*targetBlock
	clear                    *hcl.Range // range of the first block with the method "unencrypted"; nil if unused
}

// envName is the environment variable that contains another body.
const envName = "TF_ENCRYPTION"

// parseEnv parses the body in TF_ENCRYPTION, in native or JSON syntax.
func parseEnv(text string) (hcl.Body, error) {
	parse := nesting.Parse
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		parse = nesting.ParseJSON
	}
	file, diags := parse(envName, []byte(text))
	if diags.HasErrors() {
		return nil, tfdiags.FromHCL(diags).Err()
	}
	return file.Body, configs.CheckEncryption(file.Body)
}

// add merges another body into the document. The body must conform to configs.EncryptionSchema. rng
// is the start of the block with the body.
func (d *document) add(body hcl.Body, rng hcl.Range) error {
	var errs tfdiags.Diagnostics
	content, _ := body.Content(configs.EncryptionSchema)
	for _, b := range content.Blocks {
		switch b.Type {
		case "key_provider":
			errs = errs.AppendError(merge(&d.keyProviders, b))
		case "method":
			if b.Labels[0] == Unencrypted.Name && d.clear == nil {
				d.clear = &rng
			}
			errs = errs.AppendError(merge(&d.methods, b))
		case "state":
			mergeTarget(&d.state, b)
		case "plan":
			mergeTarget(&d.plan, b)
		case "remote_state_data_sources":
			d.addRemote(b.Body)
		}
	}
	return errs.Err()
}

func (d *document) addRemote(body hcl.Body) {
	content, _ := body.Content(configs.EncryptionRemoteSchema)
	for _, b := range content.Blocks {
		if b.Type == "default" {
			mergeTarget(&d.otherStates, b)
			continue
		}
		if d.named == nil {
			d.named = make(map[string]*targetBlock)
		}
		t := d.named[b.Labels[0]]
		mergeTarget(&t, b)
		d.named[b.Labels[0]] = t
	}
}

func merge(into *map[string]*block, b *hcl.Block) error {
	if *into == nil {
		*into = make(map[string]*block)
	}
	key := b.Labels[0] + "." + b.Labels[1]
	if (*into)[key] == nil {
		(*into)[key] = &block{}
	}
	content, _, diags := b.Body.PartialContent(nestedBlocks)
	attrs, more := b.Body.JustAttributes()
	if !onlyNested(b.Body) {
		diags = append(diags, more...)
	}
	for _, inner := range content.Blocks {
		delete(attrs, inner.Type) // in JSON, a block also looks like an attribute
		(*into)[key].nested = append((*into)[key].nested, inner)
	}
	(*into)[key].set(attrs, b.DefRange)
	return tfdiags.FromHCL(diags).Err()
}

// nestedBlocks is the schema of the blocks that a key provider may contain. The driver decides
// which of them it accepts.
var nestedBlocks = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "endpoints"}}}

// onlyNested reports whether a body has blocks and all of them are in nestedBlocks. The errors that
// JustAttributes returns for such a body are ignored, because they are about these blocks.
func onlyNested(body hcl.Body) bool {
	syntax, ok := body.(*hclsyntax.Body)
	if !ok || len(syntax.Blocks) == 0 {
		return false
	}
	for _, b := range syntax.Blocks {
		if b.Type != nestedBlocks.Blocks[0].Type {
			return false
		}
	}
	return true
}

func (b *block) set(attrs hcl.Attributes, rng hcl.Range) {
	b.rng = rng
	if b.attrs == nil {
		b.attrs = make(map[string]*hcl.Attribute)
	}
	maps.Copy(b.attrs, attrs)
}

func mergeTarget(into **targetBlock, b *hcl.Block) {
	if *into == nil {
		*into = &targetBlock{}
	}
	content, _ := b.Body.Content(configs.EncryptionTargetSchema)
	(*into).set(content.Attributes, b.DefRange)
	for _, inner := range content.Blocks {
		mergeTarget(&(*into).fallback, inner)
	}
}

// reference parses an expression of the form root.type.name and returns "type.name". It returns
// false for other expressions.
func reference(expr hcl.Expression, root string) (string, bool) {
	tr, diags := hcl.AbsTraversalForExpr(expr)
	if diags.HasErrors() || len(tr) != 3 || tr.RootName() != root {
		return "", false
	}
	typ, ok1 := tr[1].(hcl.TraverseAttr)
	name, ok2 := tr[2].(hcl.TraverseAttr)
	return fmt.Sprintf("%s.%s", typ.Name, name.Name), ok1 && ok2
}
