package configschema

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// template says where the values of a type have attributes of a kind that the schema tells: sensitive or deprecated ones. A nil template
// says nowhere, so that schemas without such attributes cost nothing per value.
type template struct {
	here  bool                 // the whole value
	attrs map[string]*template // of an object
	names []string             // of attrs, sorted
	each  *template            // of every element of a collection
}

func (b *Block) templates() {
	b.derived.marked.Do(func() {
		b.derived.sensitive = blockTemplate(b, func(a *Attribute) bool { return a.Sensitive })

		b.derived.deprecated = blockTemplate(b, func(a *Attribute) bool { return a.Deprecated })
	})
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
			if t := inCollection(attr.NestedType.Nesting, objectTemplate(attrTemplates(attr.NestedType.Attributes, is))); t != nil {
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

// ContainsSensitive tells whether the schema has sensitive attributes at any depth.
func (b *Block) ContainsSensitive() bool {
	b.templates()
	return b.derived.sensitive != nil
}

// SensitivePaths lists where v holds what the schema calls sensitive, nulls included, in a fixed order. Elements of sets have no
// place of their own, so a set that holds something sensitive is listed as a whole.
func (b *Block) SensitivePaths(v cty.Value) []cty.Path {
	b.templates()
	if b.derived.sensitive == nil {
		return nil
	}
	return b.derived.sensitive.paths(v, nil, nil)
}

// ContainsDeprecated tells whether the schema has deprecated attributes at any depth.
func (b *Block) ContainsDeprecated() bool {
	b.templates()
	return b.derived.deprecated != nil
}

// DeprecatedPaths lists where v has deprecated attributes, in a fixed order. A set that holds some is listed as a whole.
func (b *Block) DeprecatedPaths(v cty.Value) []cty.Path {
	b.templates()
	if b.derived.deprecated == nil {
		return nil
	}
	return b.derived.deprecated.paths(v, nil, nil)
}

// MarkSensitive marks what the schema calls sensitive in v.
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

// paths appends the places in v, which is at path. A set that has one in an element is a place as a whole.
func (t *template) paths(v cty.Value, path cty.Path, out []cty.Path) []cty.Path {
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

// elementPath is the path of an element: objects stand for maps of blocks without a fixed type.
func elementPath(path cty.Path, ty cty.Type, key cty.Value) cty.Path {
	if ty.IsObjectType() {
		return path.GetAttr(key.AsString())
	}
	return path.Index(key)
}
