package encryption

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/lang/nesting"
	"tofu/internal/tfdiags"
)

// block is a block's arguments. Those of later bodies replace those of earlier ones.
type block struct {
	rng   hcl.Range
	attrs map[string]*hcl.Attribute
}

// targetBlock is a state, plan, fallback or remote state block.
type targetBlock struct {
	block
	fallback *targetBlock
}

// document is the content of all encryption bodies together. Key providers and methods have keys of the form "type.name".
type document struct {
	keyProviders, methods    map[string]*block
	state, plan, otherStates *targetBlock
	named                    map[string]*targetBlock
	clear                    *hcl.Range // of the first block with the method "unencrypted"
}

// envName is the variable that has a body too.
const envName = "TF_ENCRYPTION"

var rootSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "key_provider", LabelNames: []string{"type", "name"}},
	{Type: "method", LabelNames: []string{"type", "name"}},
	{Type: "state"},
	{Type: "plan"},
	{Type: "remote_state_data_sources"},
}}

var remoteSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "default"},
	{Type: "remote_state_data_source", LabelNames: []string{"name"}},
}}

var targetSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "method"}, {Name: "enforced"}},
	Blocks:     []hcl.BlockHeaderSchema{{Type: "fallback"}},
}

// parseEnv reads the body that TF_ENCRYPTION has, in native or JSON syntax.
func parseEnv(text string) (hcl.Body, tfdiags.Diagnostics) {
	parse := nesting.Parse
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		parse = nesting.ParseJSON
	}
	file, diags := parse(envName, []byte(text))
	if diags.HasErrors() {
		return nil, tfdiags.Diagnostics{}.Append(diags)
	}
	return file.Body, nil
}

// add merges another body into the document; rng is where its block begins.
func (d *document) add(body hcl.Body, rng hcl.Range) tfdiags.Diagnostics {
	content, hdiags := body.Content(rootSchema)
	diags := tfdiags.Diagnostics{}.Append(hdiags)
	seen := make(map[string]bool)
	for _, b := range content.Blocks {
		key := b.Type
		if len(b.Labels) > 0 {
			key += "." + strings.Join(b.Labels, ".")
		}
		if seen[key] {
			diags = diags.Append(tfdiags.Errorf("Duplicate "+b.Type, "The encryption block has %s more than once.", key).At(b.DefRange))
			continue
		}
		seen[key] = true
		switch b.Type {
		case "key_provider":
			diags = diags.Append(merge(&d.keyProviders, b))
		case "method":
			if b.Labels[0] == Unencrypted.Name && d.clear == nil {
				d.clear = &rng
			}
			diags = diags.Append(merge(&d.methods, b))
		case "state":
			diags = diags.Append(mergeTarget(&d.state, b))
		case "plan":
			diags = diags.Append(mergeTarget(&d.plan, b))
		case "remote_state_data_sources":
			diags = diags.Append(d.addRemote(b.Body))
		}
	}
	return diags
}

func (d *document) addRemote(body hcl.Body) tfdiags.Diagnostics {
	content, hdiags := body.Content(remoteSchema)
	diags := tfdiags.Diagnostics{}.Append(hdiags)
	for _, b := range content.Blocks {
		if b.Type == "default" {
			diags = diags.Append(mergeTarget(&d.otherStates, b))
			continue
		}
		if d.named == nil {
			d.named = make(map[string]*targetBlock)
		}
		t := d.named[b.Labels[0]]
		diags = diags.Append(mergeTarget(&t, b))
		d.named[b.Labels[0]] = t
	}
	return diags
}

func merge(into *map[string]*block, b *hcl.Block) tfdiags.Diagnostics {
	if *into == nil {
		*into = make(map[string]*block)
	}
	key := b.Labels[0] + "." + b.Labels[1]
	if (*into)[key] == nil {
		(*into)[key] = &block{}
	}
	attrs, diags := b.Body.JustAttributes()
	(*into)[key].set(attrs, b.DefRange)
	return tfdiags.Diagnostics{}.Append(diags)
}

func (b *block) set(attrs hcl.Attributes, rng hcl.Range) {
	b.rng = rng
	if b.attrs == nil {
		b.attrs = make(map[string]*hcl.Attribute)
	}
	for name, attr := range attrs {
		b.attrs[name] = attr
	}
}

func mergeTarget(into **targetBlock, b *hcl.Block) tfdiags.Diagnostics {
	if *into == nil {
		*into = &targetBlock{}
	}
	content, hdiags := b.Body.Content(targetSchema)
	diags := tfdiags.Diagnostics{}.Append(hdiags)
	(*into).set(content.Attributes, b.DefRange)
	for i, inner := range content.Blocks {
		if i > 0 {
			diags = diags.Append(tfdiags.Errorf("Duplicate fallback", "A method has one fallback; the fallback may have one of its own.").At(inner.DefRange))
			break
		}
		diags = diags.Append(mergeTarget(&(*into).fallback, inner))
	}
	return diags
}

// reference reads an expression that is nothing but a reference "root.type.name", as "type.name".
func reference(expr hcl.Expression, root string) (string, bool) {
	tr, diags := hcl.AbsTraversalForExpr(expr)
	if diags.HasErrors() || len(tr) != 3 || tr.RootName() != root {
		return "", false
	}
	typ, ok1 := tr[1].(hcl.TraverseAttr)
	name, ok2 := tr[2].(hcl.TraverseAttr)
	return fmt.Sprintf("%s.%s", typ.Name, name.Name), ok1 && ok2
}
