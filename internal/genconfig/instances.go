package genconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
)

// part is the value at one place of the object of one instance.
type part struct {
	of *Block
	v  cty.Value
}

// row is a nested block, with the values of the instances that have it.
type row struct {
	key   addrs.InstanceKey // the position or label of the block; NoKey if there is at most one
	parts []part
}

// rows matches the nested blocks of one type: by label or by position. Elements of a set have no
// positions, so those that most instances have come first.
func rows(nested *configschema.NestedBlock, name string, parts []part) []row {
	byKey := map[addrs.InstanceKey]*row{}
	add := func(key addrs.InstanceKey, p part) {
		if byKey[key] == nil {
			byKey[key] = &row{key: key}
		}
		byKey[key].parts = append(byKey[key].parts, p)
	}
	var frequency map[string]int // of the elements of sets
	if nested.Nesting == configschema.NestingSet && len(parts) > 1 {
		frequency = map[string]int{}
		for _, p := range parts {
			if v := p.v.GetAttr(name); !v.IsNull() && v.IsKnown() {
				for _, elem := range v.AsValueSlice() {
					frequency[elem.GoString()]++
				}
			}
		}
	}
	for _, p := range parts {
		v := p.v.GetAttr(name)
		if v.IsNull() || !v.IsKnown() {
			continue
		}
		switch nested.Nesting {
		case configschema.NestingSingle:
			add(addrs.NoKey, part{p.of, v})
		case configschema.NestingGroup:
			if !v.RawEquals(nested.Block.EmptyValue()) {
				add(addrs.NoKey, part{p.of, v})
			}
		case configschema.NestingMap:
			for key, elem := range v.AsValueMap() {
				add(addrs.StringKey(key), part{p.of, elem})
			}
		default:
			elems := v.AsValueSlice()
			if frequency != nil {
				slices.SortStableFunc(elems, func(x, y cty.Value) int {
					return frequency[y.GoString()] - frequency[x.GoString()]
				})
			}
			for i, elem := range elems {
				add(addrs.IntKey(i), part{p.of, elem})
			}
		}
	}
	var out []row
	for _, key := range slices.SortedFunc(maps.Keys(byKey), addrs.InstanceKey.Compare) {
		out = append(out, *byKey[key])
	}
	return out
}

// repetition writes the argument that gives the keys of the instances.
func (w *writer) repetition(blocks []*Block, forEach string) {
	key := blocks[0].Addr.Key
	switch _, number := key.IsInt(); {
	case key == addrs.NoKey:
	case number:
		fmt.Fprintf(w.b, "count = %d\n", len(blocks))
	case forEach != "":
		fmt.Fprintf(w.b, "for_each = %s\n", forEach)
	default:
		keys := make([]string, len(blocks))
		for i, b := range blocks {
			keys[i] = keyLiteral(b.Addr.Key)
		}
		fmt.Fprintf(w.b, "for_each = toset([%s])\n", strings.Join(keys, ", "))
	}
}

// differing writes the value of an attribute for all instances: once if it is the same for all,
// otherwise as a lookup by the key of the instance.
func (w *writer) differing(attr *configschema.Attribute, parts []part, at string) {
	if len(parts) == 1 {
		w.attr(attr, parts[0], at)
		return
	}
	texts := w.texts(attr, parts, at)
	if !same(texts) {
		w.relative = true
		relative := w.texts(attr, parts, at)
		w.relative = false
		if same(relative) {
			texts = relative
		}
	}
	if same(texts) {
		w.b.WriteString(texts[0])
		return
	}
	w.b.WriteString("{\n")
	for i, p := range parts {
		fmt.Fprintf(w.b, "%s = %s\n", quotedKey(p.of.Addr.Key), texts[i])
	}
	fmt.Fprintf(w.b, "}[%s]", keyOf(parts[0].of.Addr.Key))
}

// texts returns the text of an attribute's value for each instance.
func (w *writer) texts(attr *configschema.Attribute, parts []part, at string) []string {
	whole := w.b
	defer func() { w.b = whole }()
	out := make([]string, len(parts))
	for i, p := range parts {
		w.b = &strings.Builder{}
		w.attr(attr, p, at)
		out[i] = w.b.String()
	}
	return out
}

func same(texts []string) bool {
	return !slices.ContainsFunc(texts, func(t string) bool { return t != texts[0] })
}

// has returns the condition that is true for the instances of the parts.
func has(parts []part) string {
	keys := make([]string, len(parts))
	for i, p := range parts {
		keys[i] = keyLiteral(p.of.Addr.Key)
	}
	return fmt.Sprintf("contains([%s], %s)", strings.Join(keys, ", "), keyOf(parts[0].of.Addr.Key))
}

// reference returns the expression that replaces a string, or "". If relative is true, the result
// uses each.key where it is the key of the instance.
func (b *Block) reference(s string, relative bool) string {
	key := b.Addr.Key
	if other, ok := b.Refs[s]; ok {
		index, of := "", other.Addr.Key
		switch {
		case of == addrs.NoKey:
		case relative && of == key:
			index = "[" + keyOf(key) + "]"
		default:
			index = "[" + keyLiteral(of) + "]"
		}
		return other.Addr.Resource.String() + index + "." + other.Attr
	}
	if text, ok := key.IsString(); relative && ok && text == s {
		return keyOf(key)
	}
	return ""
}

// keyOf returns the expression for the key of the instance.
func keyOf(key addrs.InstanceKey) string {
	if _, number := key.IsInt(); number {
		return "count.index"
	}
	return "each.key"
}

// keyLiteral returns a key as an expression.
func keyLiteral(key addrs.InstanceKey) string {
	return string(hclwrite.TokensForValue(key.Value()).Bytes())
}

// quotedKey returns a key in the form in which an object has it.
func quotedKey(key addrs.InstanceKey) string {
	if _, number := key.IsInt(); number {
		return `"` + keyLiteral(key) + `"`
	}
	return keyLiteral(key)
}
