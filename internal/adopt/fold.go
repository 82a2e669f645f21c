package adopt

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
)

// fold finds groups of objects that are equal except for one name. The name is what people call the
// objects, or an argument; the one that makes the fewest blocks is taken. Objects whose values are not
// known are in no group. The objects have one type, whose schema is given.
func fold(objects []*Object, schema *configschema.Block) (groups []*group, rest []*Object) {
	if schema == nil || len(objects) < 2 {
		return nil, objects
	}
	names := []func(*Object) string{(*Object).called}
	for _, name := range slices.Sorted(maps.Keys(schema.Attributes)) {
		attr := schema.Attributes[name]
		if attr.Type == cty.String && (attr.Required || attr.Optional) && !attr.Sensitive && name != "id" &&
			distinguishes(objects, name) {
			names = append(names, func(o *Object) string { return argument(o, name) })
		}
	}
	best := len(objects)
	for _, name := range names {
		found, others := foldBy(objects, schema, name)
		if n := len(found) + len(others); n < best {
			groups, rest, best = found, others, n
		}
	}
	if groups == nil {
		return nil, objects
	}
	return groups, rest
}

// distinguishes reports whether an argument could be the key of many objects: at least half of them have
// a value of their own.
func distinguishes(objects []*Object, name string) bool {
	values := make(map[string]bool)
	for _, o := range objects {
		if s := argument(o, name); s != "" {
			values[s] = true
		}
	}
	return 2*len(values) >= len(objects)
}

// argument returns a string argument of an object, or "".
func argument(o *Object, name string) string {
	v := valueOf(o)
	if v.IsNull() || !v.Type().HasAttribute(name) {
		return ""
	}
	if v = v.GetAttr(name); v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

// foldBy finds groups of objects that are equal except for the given name of each.
func foldBy(objects []*Object, schema *configschema.Block, name func(*Object) string) ([]*group, []*Object) {
	bySignature := make(map[string]*group)
	var order []string
	for _, o := range objects {
		key := name(o)
		if key == "" || valueOf(o).IsNull() {
			continue
		}
		s := signature(o.Value, schema, key)
		if bySignature[s] == nil {
			bySignature[s], order = &group{}, append(order, s)
		}
		g := bySignature[s]
		g.objects, g.keys = append(g.objects, o), append(g.keys, key)
	}
	var groups []*group
	folded := make(map[*Object]bool)
	for _, s := range order {
		g := bySignature[s]
		sorted := slices.Sorted(slices.Values(g.keys))
		if len(g.objects) < 2 || len(slices.Compact(sorted)) < len(g.keys) {
			continue
		}
		groups = append(groups, g)
		for _, o := range g.objects {
			folded[o] = true
		}
	}
	rest := slices.DeleteFunc(slices.Clone(objects), func(o *Object) bool { return folded[o] })
	return groups, rest
}

// signature returns a text that is equal for objects whose arguments are equal, if a name in them is
// replaced.
func signature(v cty.Value, schema *configschema.Block, name string) string {
	arguments, _ := cty.Transform(v, func(path cty.Path, v cty.Value) (cty.Value, error) {
		attr := schema.AttributeByPath(path)
		switch {
		case attr != nil && attr.Computed && !attr.Optional,
			len(path) == 1 && path.Equals(cty.GetAttrPath("id")):
			return cty.NullVal(v.Type()), nil
		case v.Type() == cty.String && v.IsKnown() && !v.IsNull() && v.AsString() == name:
			return cty.StringVal("\x00"), nil
		}
		return v, nil
	})
	return arguments.GoString()
}
