package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/configs/configschema"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// generate writes the configuration of an imported object that has none, and makes it the instance's configuration.
func (p *instancePlan) generate(prior *live, importing *plans.Importing) (string, tfdiags.Diagnostics) {
	w, r := p.w, p.r
	text := blockText(r.addr.Resource, r.cfg.Provider, r.schema.Block, unmark(prior.value))
	from := fmt.Sprintf("%q", importing.ID)
	if importing.ID == "" {
		if raw, err := ctyjson.Marshal(importing.Identity, importing.Identity.Type()); err == nil {
			from = string(raw)
		}
	}
	w.mu.Lock()
	w.generated[p.addr.String()] = "# __generated__ by OpenTofu from " + from + "\n" + text
	w.mu.Unlock()

	file, hclDiags := hclsyntax.ParseConfig([]byte(text), "generated.tf", hcl.InitialPos)
	var diags tfdiags.Diagnostics
	if diags = diags.Append(hclDiags); diags.HasErrors() {
		return text, diags
	}
	content, _, hclDiags := file.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "resource", LabelNames: []string{"type", "name"}}}})
	if diags = diags.Append(hclDiags); diags.HasErrors() || len(content.Blocks) != 1 {
		return text, diags
	}
	inner := content.Blocks[0].Body
	if body, ok := inner.(*hclsyntax.Body); ok {
		delete(body.Attributes, "provider")
	}
	body, more := lang.AnalyseBody(inner, r.schema.Block, addrs.ModuleScope)
	exprs := *r.exprs
	exprs.body = body
	r.exprs = &exprs
	return text, diags.Append(more)
}

// blockText writes a resource block with everything that can be set.
func blockText(addr addrs.Resource, provider *configs.ProviderRef, schema *configschema.Block, v cty.Value) string {
	var b strings.Builder
	fmt.Fprintf(&b, "resource %q %q {\n", addr.Type, addr.Name)
	if provider != nil {
		fmt.Fprintf(&b, "provider = %s\n", provider.Local())
	}
	writeBody(&b, schema, v)
	b.WriteString("}\n")
	return string(hclwrite.Format([]byte(b.String())))
}

func writeBody(b *strings.Builder, schema *configschema.Block, v cty.Value) {
	writeAttrs(b, schema.Attributes, v)
	for _, name := range sortedKeys(schema.BlockTypes) {
		nested := schema.BlockTypes[name]
		value := v.GetAttr(name)
		if value.IsNull() || !value.IsKnown() {
			continue
		}
		if nested.Nesting == configschema.NestingSingle || nested.Nesting == configschema.NestingGroup {
			if nested.Nesting == configschema.NestingGroup && value.RawEquals(nested.Block.EmptyValue()) {
				continue
			}
			writeBlock(b, name, "", &nested.Block, value)
			continue
		}
		for it := value.ElementIterator(); it.Next(); {
			key, elem := it.Element()
			label := ""
			if nested.Nesting == configschema.NestingMap {
				label = fmt.Sprintf(" %s", hclwrite.TokensForValue(key).Bytes())
			}
			writeBlock(b, name, label, &nested.Block, elem)
		}
	}
}

func writeBlock(b *strings.Builder, name, label string, schema *configschema.Block, v cty.Value) {
	fmt.Fprintf(b, "%s%s {\n", name, label)
	writeBody(b, schema, v)
	b.WriteString("}\n")
}

// writeAttrs writes the attributes that can be set. Secrets and write-only values are left for the user to fill in.
func writeAttrs(b *strings.Builder, attrs map[string]*configschema.Attribute, v cty.Value) {
	for _, name := range sortedKeys(attrs) {
		attr := attrs[name]
		switch {
		case attr.Computed && !attr.Optional, attr.Deprecated && v.GetAttr(name).IsNull():
			continue
		case attr.WriteOnly:
			fmt.Fprintf(b, "%s = null # write-only\n", name)
			continue
		case attr.Sensitive:
			fmt.Fprintf(b, "%s = null # sensitive\n", name)
			continue
		}
		fmt.Fprintf(b, "%s = ", name)
		writeAttr(b, attr, v.GetAttr(name))
		b.WriteByte('\n')
	}
}

func writeAttr(b *strings.Builder, attr *configschema.Attribute, v cty.Value) {
	if attr.NestedType == nil || v.IsNull() {
		b.Write(valueText(v))
		return
	}
	object := func(v cty.Value) {
		b.WriteString("{\n")
		writeAttrs(b, attr.NestedType.Attributes, v)
		b.WriteString("}")
	}
	switch attr.NestedType.Nesting {
	case configschema.NestingList, configschema.NestingSet:
		if v.LengthInt() == 0 {
			b.WriteString("[]")
			return
		}
		b.WriteString("[\n")
		for it := v.ElementIterator(); it.Next(); {
			_, elem := it.Element()
			object(elem)
			b.WriteString(",\n")
		}
		b.WriteString("]")
	case configschema.NestingMap:
		b.WriteString("{\n")
		for it := v.ElementIterator(); it.Next(); {
			key, elem := it.Element()
			name := key.AsString()
			if !hclsyntax.ValidIdentifier(name) {
				name = string(hclwrite.TokensForValue(key).Bytes())
			}
			b.WriteString(name + " = ")
			object(elem)
			b.WriteByte('\n')
		}
		b.WriteString("}")
	default:
		object(v)
	}
}

// valueText writes a value; a string that holds a JSON document becomes a call that makes it, which people can read.
func valueText(v cty.Value) []byte {
	if v.Type() == cty.String && !v.IsNull() && v.IsKnown() {
		text := strings.TrimSpace(v.AsString())
		if (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && json.Valid([]byte(text)) {
			if ty, err := ctyjson.ImpliedType([]byte(text)); err == nil {
				if doc, err := ctyjson.Unmarshal([]byte(text), ty); err == nil {
					return hclwrite.TokensForFunctionCall("jsonencode", hclwrite.TokensForValue(doc)).Bytes()
				}
			}
		}
	}
	return hclwrite.TokensForValue(v).Bytes()
}
