package genconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
)

// Block is a resource block to generate for an object. [Text] writes one block for all instances of a
// resource.
type Block struct {
	Addr     addrs.AbsInstance
	Provider string // local name and alias of the provider configuration; "" for the default configuration
	Schema   *configschema.Block
	Value    cty.Value // unmarked
	ID       string    // import ID; "" if the object was imported by identity
	// Refs maps values to attributes of other objects. References to these replace the values.
	Refs    map[string]Ref
	omitted map[string]bool
}

// Header returns the comment that precedes the block for some objects.
func Header(blocks []*Block) string {
	header := "# __generated__ by OpenTofu"
	if id := blocks[0].ID; id != "" {
		header += fmt.Sprintf(" from %q", id)
		if more := len(blocks) - 1; more > 0 {
			header += fmt.Sprintf(" and %d more", more)
		}
	}
	return header
}

// Text returns the block for the instances of a resource, with all arguments that can be set. The
// instances are in one module instance and sorted by key. An argument whose values differ is looked
// up by the key. forEach is an expression for the for_each argument, or "" for a set of the keys.
// Sensitive arguments are written as null and listed in ignore_changes; Text returns their paths.
func Text(blocks []*Block, forEach string) (text string, ignored []string) {
	w := &writer{b: &strings.Builder{}, listed: map[string]bool{}}
	first := blocks[0]
	fmt.Fprintf(w.b, "resource %q %q {\n", first.Addr.Resource.Type, first.Addr.Resource.Name)
	w.repetition(blocks, forEach)
	if first.Provider != "" {
		fmt.Fprintf(w.b, "provider = %s\n", first.Provider)
	}
	parts := make([]part, len(blocks))
	for i, b := range blocks {
		parts[i] = part{b, b.Value}
	}
	w.body(first.Schema, parts, "")
	if len(w.ignored) > 0 {
		fmt.Fprintf(w.b, "lifecycle {\nignore_changes = [%s] # sensitive: not known here, so left as it is\n}\n",
			strings.Join(w.ignored, ", "))
	}
	w.b.WriteString("}\n")
	return string(hclwrite.Format([]byte(w.b.String()))), w.ignored
}

// writer writes the content of one block.
type writer struct {
	b        *strings.Builder
	ignored  []string        // paths of sensitive values, which are not written
	listed   map[string]bool // has the elements of ignored
	sets     int             // number of sets around the current value; a path ends at the outermost set
	relative bool            // whether each.key replaces the key of the instance
}

// body writes attributes and nested blocks. at is the path of the block; it is "" or ends with a
// dot.
func (w *writer) body(schema *configschema.Block, parts []part, at string) {
	w.attrs(schema.Attributes, parts, at)
	for _, name := range slices.Sorted(maps.Keys(schema.BlockTypes)) {
		nested := schema.BlockTypes[name]
		if nested.Nesting == configschema.NestingSet {
			w.sets++
		}
		for _, r := range rows(nested, name, parts) {
			w.block(name, r, len(r.parts) < len(parts), nested, at+name)
		}
		if nested.Nesting == configschema.NestingSet {
			w.sets--
		}
	}
}

// block writes a nested block. If only some of the instances have it, it is dynamic.
func (w *writer) block(name string, r row, some bool, schema *configschema.NestedBlock, at string) {
	if schema.Nesting == configschema.NestingSingle || schema.Nesting == configschema.NestingGroup {
		at += "."
	} else {
		at = elementPath(at, schema.Nesting, r.key.Value())
	}
	label := ""
	if schema.Nesting == configschema.NestingMap {
		label = keyLiteral(r.key)
	}
	if !some {
		fmt.Fprintf(w.b, "%s %s {\n", name, label)
		w.body(&schema.Block, r.parts, at)
		w.b.WriteString("}\n")
		return
	}
	fmt.Fprintf(w.b, "dynamic %q {\nfor_each = %s ? [true] : []\n", name, has(r.parts))
	if label != "" {
		fmt.Fprintf(w.b, "labels = [%s]\n", label)
	}
	w.b.WriteString("content {\n")
	w.body(&schema.Block, r.parts, at)
	w.b.WriteString("}\n}\n")
}

// elementPath returns the path of an element's content. Elements of a set have the path of the set.
func elementPath(at string, nesting configschema.NestingMode, key cty.Value) string {
	if nesting == configschema.NestingSet {
		return at
	}
	return fmt.Sprintf("%s[%s].", at, hclwrite.TokensForValue(key).Bytes())
}

// attrs writes the attributes that can be set. It leaves out deprecated attributes if no
// information is lost. It also leaves out the id, which users do not set even if a legacy SDK
// declares it as optional. It writes null for sensitive and write-only values, which the user must
// fill in.
func (w *writer) attrs(attrs map[string]*configschema.Attribute, parts []part, at string) {
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		attr := attrs[name]
		values, unset, omitted := make([]part, len(parts)), true, true
		for i, p := range parts {
			values[i] = part{p.of, p.v.GetAttr(name)}
			unset = unset && values[i].v.IsNull()
			omitted = omitted && p.of.omitted[name]
		}
		switch {
		case attr.Computed && !attr.Optional,
			omitted && unset,
			attr.Deprecated && (attr.Computed || unset),
			attr.Computed && name == "id" && at == "":
			continue
		case attr.WriteOnly:
			fmt.Fprintf(w.b, "%s = null # write-only\n", name)
			continue
		case attr.Sensitive:
			fmt.Fprintf(w.b, "%s = null # sensitive\n", name)
			if !unset {
				w.ignore(at, name)
			}
			continue
		}
		fmt.Fprintf(w.b, "%s = ", name)
		w.differing(attr, values, at+name)
		w.b.WriteByte('\n')
	}
}

func (w *writer) ignore(at, name string) {
	path := at + name
	if w.sets > 0 {
		path = at
	}
	if !w.listed[path] {
		w.listed[path], w.ignored = true, append(w.ignored, path)
	}
}

// attr writes the value of an attribute of one instance.
func (w *writer) attr(attr *configschema.Attribute, p part, at string) {
	v := p.v
	if attr.NestedType == nil || v.IsNull() {
		text := document(v)
		if text == nil {
			text = w.tokens(p.of, v)
		}
		w.b.Write(text.Bytes())
		return
	}
	object := func(v cty.Value, at string) {
		w.b.WriteString("{\n")
		w.attrs(attr.NestedType.Attributes, []part{{p.of, v}}, at)
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

// keyText returns a key of a map or object in the form in which it is written in configuration.
func keyText(key string) string {
	if hclsyntax.ValidIdentifier(key) && key != "for" { // "for" begins an expression
		return key
	}
	return string(hclwrite.TokensForValue(cty.StringVal(key)).Bytes())
}

// tokens returns a value as tokens of the configuration language. Strings in the value may be
// replaced by references.
func (w *writer) tokens(of *Block, v cty.Value) hclwrite.Tokens {
	ty := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown():
		return hclwrite.TokensForValue(v)
	case ty == cty.String:
		if expr := of.reference(v.AsString(), w.relative); expr != "" {
			return hclwrite.TokensForIdentifier(expr)
		}
	case ty.IsListType(), ty.IsSetType(), ty.IsTupleType():
		var elems []hclwrite.Tokens
		for it := v.ElementIterator(); it.Next(); {
			_, elem := it.Element()
			elems = append(elems, w.tokens(of, elem))
		}
		return hclwrite.TokensForTuple(elems)
	case ty.IsMapType(), ty.IsObjectType():
		var attrs []hclwrite.ObjectAttrTokens
		for it := v.ElementIterator(); it.Next(); {
			key, elem := it.Element()
			name := hclwrite.TokensForIdentifier(keyText(key.AsString()))
			attrs = append(attrs, hclwrite.ObjectAttrTokens{Name: name, Value: w.tokens(of, elem)})
		}
		return hclwrite.TokensForObject(attrs)
	}
	return hclwrite.TokensForValue(v)
}

// document returns a string that contains a JSON document as a call to jsonencode, which is easier to
// read. It returns nil for all other values.
func document(v cty.Value) hclwrite.Tokens {
	if v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
		return nil
	}
	text := strings.TrimSpace(v.AsString())
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") || !json.Valid([]byte(text)) {
		return nil
	}
	ty, err := ctyjson.ImpliedType([]byte(text))
	if err != nil {
		return nil
	}
	doc, err := ctyjson.Unmarshal([]byte(text), ty)
	if err != nil {
		return nil
	}
	return hclwrite.TokensForFunctionCall("jsonencode", hclwrite.TokensForValue(doc))
}
