package genconfig

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/dag"
)

// Object is an object of the plan, to which arguments of imported objects may refer.
type Object struct {
	Addr   addrs.AbsInstance
	Schema *configschema.Block
	Value  cty.Value // unmarked
	// Stays says that the object is imported in the same run, or is in the state and stays.
	Stays bool
}

// Ref is an attribute of an object.
type Ref struct {
	Addr addrs.AbsInstance
	Attr string
}

// Identifying are the attributes by which other objects refer to an object.
var Identifying = []string{"id", "arn", "self_link"}

// SetRefs sets the references of the blocks to other objects that are imported or stay. A false reference
// would replace one object when another is renamed, so a value is not replaced if several objects have
// it, if it is only a name, if its object is in another module instance, or if the references would form
// a cycle between resources.
func SetRefs(blocks []*Block, objects []Object) {
	byValue := objectsByValue(objects)
	var graph dag.Graph
	nodes := map[addrs.AbsResource]dag.ID{}
	for _, b := range blocks {
		if _, added := nodes[b.Addr.Abs()]; !added {
			nodes[b.Addr.Abs()] = graph.Add()
		}
	}
	for _, b := range blocks {
		b.Refs = map[string]Ref{}
		eachString(b.Value, func(_ cty.Path, s string) {
			other, ok := byValue[s]
			if !ok || other.Addr.Abs() == b.Addr.Abs() || other.Addr.Module != b.Addr.Module {
				return
			}
			b.Refs[s] = other
			if to, generated := nodes[other.Addr.Abs()]; generated {
				graph.Connect(nodes[b.Addr.Abs()], to)
			}
		})
	}
	cyclic := graph.Cyclic()
	for _, b := range blocks {
		maps.DeleteFunc(b.Refs, func(_ string, other Ref) bool {
			to, generated := nodes[other.Addr.Abs()]
			return generated && cyclic[to] && cyclic[nodes[b.Addr.Abs()]]
		})
	}
}

// objectsByValue returns the attributes that identify objects which stay, by value. It leaves out values
// that several objects have or that are names.
func objectsByValue(objects []Object) map[string]Ref {
	byValue, owners := map[string]Ref{}, map[string]addrs.AbsInstance{}
	for _, o := range objects {
		for _, attr := range Identifying {
			s, ok := text(o.Value, attr)
			if !ok || s == "" {
				continue
			}
			owner, known := owners[s]
			switch {
			case known && owner != o.Addr:
				delete(byValue, s)
			case !known:
				owners[s] = o.Addr
				if o.Stays && !o.named(s) {
					byValue[s] = Ref{o.Addr, attr}
				}
			}
		}
	}
	return byValue
}

// named reports whether the ID is a name that was chosen, as an argument of the object. Other
// objects may have the same name without any relation.
func (o Object) named(id string) bool {
	found := false
	eachString(o.Value, func(path cty.Path, s string) {
		if s == id && !slices.ContainsFunc(Identifying, func(name string) bool { return path.Equals(cty.GetAttrPath(name)) }) {
			attr := o.Schema.AttributeByPath(path)
			found = found || attr != nil && (attr.Required || attr.Optional)
		}
	})
	return found
}

// ID returns the id attribute of an unmarked object. It returns false if the object has no known
// ID.
func ID(v cty.Value) (string, bool) { return text(v, "id") }

// text returns a string attribute of an object. It returns false if the object has no such attribute or
// its value is not known.
func text(v cty.Value, attr string) (string, bool) {
	if v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() || !v.Type().HasAttribute(attr) {
		return "", false
	}
	s := v.GetAttr(attr)
	if s.Type() != cty.String || s.IsNull() || !s.IsKnown() {
		return "", false
	}
	return s.AsString(), true
}

// eachString calls visit for each string in a value.
func eachString(v cty.Value, visit func(cty.Path, string)) {
	_ = cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
			visit(path, v.AsString())
		}
		return true, nil
	})
}
