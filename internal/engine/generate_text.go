package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/configs/configschema"
)

// blockWriter writes the content of one generated block.
type blockWriter struct {
	b       strings.Builder
	refs    map[string]string // what stands for a string: an expression
	ignored []string          // paths of secrets, which are not written and must not be wiped for that
	sets    int               // how many sets surround what is written: paths can't lead into them
}

func (g *generatedBlock) writer(refs map[string]string) *blockWriter { return &blockWriter{refs: refs} }

// text writes a resource block with everything that can be set.
func (w *blockWriter) text(g *generatedBlock) string {
	r := g.resource
	fmt.Fprintf(&w.b, "resource %q %q {\n", r.addr.Resource.Type, r.addr.Resource.Name)
	if r.cfg.Provider != nil {
		fmt.Fprintf(&w.b, "provider = %s\n", r.cfg.Provider.Local())
	}
	w.body(r.schema.Block, g.value, "")
	if len(w.ignored) > 0 {
		fmt.Fprintf(&w.b, "lifecycle {\nignore_changes = [%s] # sensitive: not known here, so left as it is\n}\n", strings.Join(w.ignored, ", "))
	}
	w.b.WriteString("}\n")
	return string(hclwrite.Format([]byte(w.b.String())))
}

// body writes attributes and nested blocks; at is the path of the body, empty or ending with a dot.
func (w *blockWriter) body(schema *configschema.Block, v cty.Value, at string) {
	w.attrs(schema.Attributes, v, at)
	for _, name := range sortedKeys(schema.BlockTypes) {
		nested := schema.BlockTypes[name]
		value := v.GetAttr(name)
		if value.IsNull() || !value.IsKnown() {
			continue
		}
		switch nested.Nesting {
		case configschema.NestingSingle, configschema.NestingGroup:
			if nested.Nesting == configschema.NestingSingle || !value.RawEquals(nested.Block.EmptyValue()) {
				w.block(name, "", &nested.Block, value, at+name+".")
			}
			continue
		case configschema.NestingSet:
			w.sets++
		}
		for it := value.ElementIterator(); it.Next(); {
			key, elem := it.Element()
			label := ""
			if nested.Nesting == configschema.NestingMap {
				label = fmt.Sprintf(" %s", hclwrite.TokensForValue(key).Bytes())
			}
			w.block(name, label, &nested.Block, elem, elementPath(at+name, nested.Nesting, key))
		}
		if nested.Nesting == configschema.NestingSet {
			w.sets--
		}
	}
}

// elementPath is the path of an element's content. What is in a set has none, so the set stands for it.
func elementPath(at string, nesting configschema.NestingMode, key cty.Value) string {
	if nesting == configschema.NestingSet {
		return at
	}
	return fmt.Sprintf("%s[%s].", at, hclwrite.TokensForValue(key).Bytes())
}

func (w *blockWriter) block(name, label string, schema *configschema.Block, v cty.Value, at string) {
	fmt.Fprintf(&w.b, "%s%s {\n", name, label)
	w.body(schema, v, at)
	w.b.WriteString("}\n")
}

// attrs writes the attributes that can be set, less deprecated ones that lose nothing by it. Secrets and write-only values are left for the
// user to fill in. The id is not for users to set, even where an old SDK lets it look so.
func (w *blockWriter) attrs(attrs map[string]*configschema.Attribute, v cty.Value, at string) {
	for _, name := range sortedKeys(attrs) {
		attr, value := attrs[name], v.GetAttr(name)
		switch {
		case attr.Computed && !attr.Optional, attr.Deprecated && (attr.Computed || value.IsNull()), attr.Computed && name == "id" && at == "":
			continue
		case attr.WriteOnly:
			fmt.Fprintf(&w.b, "%s = null # write-only\n", name)
			continue
		case attr.Sensitive:
			fmt.Fprintf(&w.b, "%s = null # sensitive\n", name)
			if !value.IsNull() {
				w.ignore(at, name)
			}
			continue
		}
		fmt.Fprintf(&w.b, "%s = ", name)
		w.attr(attr, value, at+name)
		w.b.WriteByte('\n')
	}
}

func (w *blockWriter) ignore(at, name string) {
	path := at + name
	if w.sets > 0 {
		path = at
	}
	if n := len(w.ignored); n == 0 || w.ignored[n-1] != path {
		w.ignored = append(w.ignored, path)
	}
}

func (w *blockWriter) attr(attr *configschema.Attribute, v cty.Value, at string) {
	if attr.NestedType == nil || v.IsNull() {
		w.b.Write(w.value(v))
		return
	}
	object := func(v cty.Value, at string) {
		w.b.WriteString("{\n")
		w.attrs(attr.NestedType.Attributes, v, at)
		w.b.WriteString("}")
	}
	nesting := attr.NestedType.Nesting
	switch nesting {
	case configschema.NestingList, configschema.NestingSet:
		if v.LengthInt() == 0 {
			w.b.WriteString("[]")
			return
		}
		if nesting == configschema.NestingSet {
			w.sets++
			defer func() { w.sets-- }()
		}
		w.b.WriteString("[\n")
		for it := v.ElementIterator(); it.Next(); {
			key, elem := it.Element()
			object(elem, elementPath(at, nesting, key))
			w.b.WriteString(",\n")
		}
		w.b.WriteString("]")
	case configschema.NestingMap:
		w.b.WriteString("{\n")
		for it := v.ElementIterator(); it.Next(); {
			key, elem := it.Element()
			w.b.WriteString(keyText(key.AsString()) + " = ")
			object(elem, elementPath(at, nesting, key))
			w.b.WriteByte('\n')
		}
		w.b.WriteString("}")
	default:
		object(v, at+".")
	}
}

// keyText writes a key of a map or object.
func keyText(key string) string {
	if hclsyntax.ValidIdentifier(key) {
		return key
	}
	return string(hclwrite.TokensForValue(cty.StringVal(key)).Bytes())
}

// value writes a value; a string that holds a JSON document becomes a call that makes it, which people can read.
func (w *blockWriter) value(v cty.Value) []byte {
	if len(w.refs) > 0 {
		return w.tokens(v).Bytes()
	}
	return literal(v).Bytes()
}

// tokens writes a value in which strings may be references.
func (w *blockWriter) tokens(v cty.Value) hclwrite.Tokens {
	ty := v.Type()
	switch {
	case v.IsNull():
		return hclwrite.TokensForValue(v)
	case ty == cty.String && w.refs[v.AsString()] != "":
		return hclwrite.TokensForIdentifier(w.refs[v.AsString()])
	case ty.IsListType(), ty.IsSetType(), ty.IsTupleType():
		var elems []hclwrite.Tokens
		for it := v.ElementIterator(); it.Next(); {
			_, elem := it.Element()
			elems = append(elems, w.tokens(elem))
		}
		return hclwrite.TokensForTuple(elems)
	case ty.IsMapType(), ty.IsObjectType():
		var attrs []hclwrite.ObjectAttrTokens
		for it := v.ElementIterator(); it.Next(); {
			key, elem := it.Element()
			attrs = append(attrs, hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForIdentifier(keyText(key.AsString())), Value: w.tokens(elem)})
		}
		return hclwrite.TokensForObject(attrs)
	}
	return literal(v)
}

func literal(v cty.Value) hclwrite.Tokens {
	if v.Type() == cty.String && !v.IsNull() && v.IsKnown() {
		text := strings.TrimSpace(v.AsString())
		if (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && json.Valid([]byte(text)) {
			if ty, err := ctyjson.ImpliedType([]byte(text)); err == nil {
				if doc, err := ctyjson.Unmarshal([]byte(text), ty); err == nil {
					return hclwrite.TokensForFunctionCall("jsonencode", hclwrite.TokensForValue(doc))
				}
			}
		}
	}
	return hclwrite.TokensForValue(v)
}
