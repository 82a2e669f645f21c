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
	"tofu/internal/configs/configschema"
)

// Block is a resource block to generate for an object.
type Block struct {
	Addr     addrs.Resource
	Provider string // local name and alias of the provider configuration; "" for the default configuration
	Schema   *configschema.Block
	Value    cty.Value // unmarked
	ID       string    // import ID; "" if the object was imported by identity
	omitted  map[string]bool
}

// Header returns the comment that precedes the block.
func (b *Block) Header() string {
	header := "# __generated__ by OpenTofu"
	if b.ID != "" {
		header += fmt.Sprintf(" from %q", b.ID)
	}
	return header
}

// Text returns the block with all arguments that can be set. refs maps strings to the expressions
// that replace them. Sensitive arguments are written as null and listed in ignore_changes; Text
// returns their paths.
func (b *Block) Text(refs map[string]string) (text string, ignored []string) {
	w := &writer{refs: refs, omitted: b.omitted}
	fmt.Fprintf(&w.b, "resource %q %q {\n", b.Addr.Type, b.Addr.Name)
	if b.Provider != "" {
		fmt.Fprintf(&w.b, "provider = %s\n", b.Provider)
	}
	w.body(b.Schema, b.Value, "")
	if len(w.ignored) > 0 {
		fmt.Fprintf(&w.b, "lifecycle {\nignore_changes = [%s] # sensitive: not known here, so left as it is\n}\n",
			strings.Join(w.ignored, ", "))
	}
	w.b.WriteString("}\n")
	return string(hclwrite.Format([]byte(w.b.String()))), w.ignored
}

// writer writes the content of one block.
type writer struct {
	b       strings.Builder
	refs    map[string]string // maps a string to the expression that replaces it
	ignored []string          // paths of sensitive values, which are not written
	omitted map[string]bool   // names of attributes that are left out if they are null
	sets    int               // number of sets around the current value; a path ends at the outermost set
}

// body writes attributes and nested blocks. at is the path of the block; it is "" or ends with a
// dot.
func (w *writer) body(schema *configschema.Block, v cty.Value, at string) {
	w.attrs(schema.Attributes, v, at)
	for _, name := range slices.Sorted(maps.Keys(schema.BlockTypes)) {
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

// elementPath returns the path of an element's content. Elements of a set have the path of the set.
func elementPath(at string, nesting configschema.NestingMode, key cty.Value) string {
	if nesting == configschema.NestingSet {
		return at
	}
	return fmt.Sprintf("%s[%s].", at, hclwrite.TokensForValue(key).Bytes())
}

func (w *writer) block(name, label string, schema *configschema.Block, v cty.Value, at string) {
	fmt.Fprintf(&w.b, "%s%s {\n", name, label)
	w.body(schema, v, at)
	w.b.WriteString("}\n")
}

// attrs writes the attributes that can be set. It leaves out deprecated attributes if no
// information is lost. It also leaves out the id, which users do not set even if a legacy SDK
// declares it as optional. It writes null for sensitive and write-only values, which the user must
// fill in.
func (w *writer) attrs(attrs map[string]*configschema.Attribute, v cty.Value, at string) {
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		attr, value := attrs[name], v.GetAttr(name)
		switch {
		case attr.Computed && !attr.Optional,
			w.omitted[name] && value.IsNull(),
			attr.Deprecated && (attr.Computed || value.IsNull()),
			attr.Computed && name == "id" && at == "":
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

func (w *writer) ignore(at, name string) {
	path := at + name
	if w.sets > 0 {
		path = at
	}
	if n := len(w.ignored); n == 0 || w.ignored[n-1] != path {
		w.ignored = append(w.ignored, path)
	}
}

func (w *writer) attr(attr *configschema.Attribute, v cty.Value, at string) {
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

// keyText returns a key of a map or object in the form in which it is written in configuration.
func keyText(key string) string {
	if hclsyntax.ValidIdentifier(key) {
		return key
	}
	return string(hclwrite.TokensForValue(cty.StringVal(key)).Bytes())
}

// value returns the text of a value in the configuration language.
func (w *writer) value(v cty.Value) []byte {
	if len(w.refs) > 0 {
		return w.tokens(v).Bytes()
	}
	return literal(v).Bytes()
}

// tokens returns a value as tokens of the configuration language. Strings in the value may be
// replaced by references.
func (w *writer) tokens(v cty.Value) hclwrite.Tokens {
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
			name := hclwrite.TokensForIdentifier(keyText(key.AsString()))
			attrs = append(attrs, hclwrite.ObjectAttrTokens{Name: name, Value: w.tokens(elem)})
		}
		return hclwrite.TokensForObject(attrs)
	}
	return literal(v)
}

// literal returns a value as an expression. A string that contains a JSON document becomes a call
// to jsonencode, which is easier to read.
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
