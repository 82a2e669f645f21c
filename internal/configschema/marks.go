package configschema

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// template describes which parts of a type's values have a property, such as being sensitive. A nil
// template means that no part has the property. Schemas without such attributes therefore cost
// nothing.
type template struct {
	here  bool                 // the value itself has the property
	attrs map[string]*template // templates of an object's attributes, by name
	names []string             // sorted keys of attrs
	each  *template            // template of the elements of a collection
}

// sensitive returns the template of sensitive attributes.
func (b *Block) sensitive() *template {
	return b.derived.sensitive.get(func() *template {
		return blockTemplate(b, func(a *Attribute) bool { return a.Sensitive })
	})
}

// deprecated returns the template of deprecated attributes.
func (b *Block) deprecated() *template {
	return b.derived.deprecated.get(func() *template {
		return blockTemplate(b, func(a *Attribute) bool { return a.Deprecated })
	})
}

// ContainsWriteOnly reports whether the schema has write-only attributes at any depth.
func (b *Block) ContainsWriteOnly() bool {
	return b.derived.writeOnly.get(func() *template {
		return blockTemplate(b, func(a *Attribute) bool { return a.WriteOnly })
	}) != nil
}

func blockTemplate(b *Block, is func(*Attribute) bool) *template {
	attrs := attrTemplates(b.Attributes, is)
	for name, nested := range b.BlockTypes {
		if t := inCollection(nested.Nesting, blockTemplate(&nested.Block, is)); t != nil {
			attrs[name] = t
		}
	}
	return objectTemplate(attrs)
}

func attrTemplates(attrs map[string]*Attribute, is func(*Attribute) bool) map[string]*template {
	out := make(map[string]*template)
	for name, attr := range attrs {
		switch {
		case is(attr):
			out[name] = &template{here: true}
		case attr.NestedType != nil:
			if t := inCollection(attr.NestedType.Nesting,
				objectTemplate(attrTemplates(attr.NestedType.Attributes, is))); t != nil {
				out[name] = t
			}
		}
	}
	return out
}

func objectTemplate(attrs map[string]*template) *template {
	if len(attrs) == 0 {
		return nil
	}
	return &template{attrs: attrs, names: slices.Sorted(maps.Keys(attrs))}
}

func inCollection(m NestingMode, t *template) *template {
	if t == nil || m == NestingSingle || m == NestingGroup {
		return t
	}
	return &template{each: t}
}

// ContainsSensitive reports whether the schema has sensitive attributes at any depth.
func (b *Block) ContainsSensitive() bool {
	return b.sensitive() != nil
}

// SensitivePaths returns the paths of all attributes of v that are sensitive in the schema, null
// ones included, in a fixed order. Set elements have no paths, so a set with a sensitive element is
// listed as a whole.
func (b *Block) SensitivePaths(v cty.Value) []cty.Path {
	return b.sensitive().paths(v, nil, nil)
}

// SensitivePathsIn is like SensitivePaths, but v is only the value of the attribute or nested
// blocks called name. The paths start at v.
func (b *Block) SensitivePathsIn(name string, v cty.Value) []cty.Path {
	t := b.sensitive()
	if t == nil {
		return nil
	}
	return t.attrs[name].paths(v, nil, nil)
}

// ContainsDeprecated reports whether the schema has deprecated attributes at any depth.
func (b *Block) ContainsDeprecated() bool {
	return b.deprecated() != nil
}

// DeprecatedPaths returns the paths of all deprecated attributes of v in a fixed order. A set that
// contains such attributes is listed as a whole.
func (b *Block) DeprecatedPaths(v cty.Value) []cty.Path {
	return b.deprecated().paths(v, nil, nil)
}

// MarkSensitive adds mark to all attributes of v that are sensitive in the schema.
func (b *Block) MarkSensitive(v cty.Value, mark any) cty.Value {
	paths := b.SensitivePaths(v)
	if len(paths) == 0 {
		return v
	}
	marked := make([]cty.PathValueMarks, len(paths))
	for i, p := range paths {
		marked[i] = cty.PathValueMarks{Path: p, Marks: cty.NewValueMarks(mark)}
	}
	return v.MarkWithPaths(marked)
}

// paths appends to out the paths of those parts of v that have the property. path is the path of v.
// A set with such a part is appended as a whole.
func (t *template) paths(v cty.Value, path cty.Path, out []cty.Path) []cty.Path {
	if t == nil {
		return out
	}
	if t.here {
		return append(out, path.Copy())
	}
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() {
		return out
	}
	ty := v.Type()
	if t.each == nil {
		for _, name := range t.names {
			if ty.IsObjectType() && ty.HasAttribute(name) {
				out = t.attrs[name].paths(v.GetAttr(name), path.GetAttr(name), out)
			}
		}
		return out
	}
	if !v.CanIterateElements() {
		return out
	}
	before := len(out)
	for it := v.ElementIterator(); it.Next(); {
		key, elem := it.Element()
		out = t.each.paths(elem, elementPath(path, ty, key), out)
		if ty.IsSetType() && len(out) > before {
			return append(out[:before], path.Copy())
		}
	}
	return out
}

// elementPath returns the path of an element of a collection. If the blocks of a map have no common
// type, they form an object instead, and its elements are attributes.
func elementPath(path cty.Path, ty cty.Type, key cty.Value) cty.Path {
	if ty.IsObjectType() {
		return path.GetAttr(key.AsString())
	}
	return path.Index(key)
}
