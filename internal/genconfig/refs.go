package genconfig

import (
	"maps"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/dag"
)

// Object is an object of the plan, to which arguments of imported objects may refer.
type Object struct {
	Addr     addrs.AbsInstance
	Schema   *configschema.Block
	Value    cty.Value // unmarked
	Imported bool      // in the same run
}

// SetRefs sets the references of the blocks to other imported objects. A false reference would replace
// one object when another is renamed, so an ID is not replaced if several objects have it, if it is
// only a name, if its object is in another module instance, or if the references would form a cycle
// between resources.
func SetRefs(blocks []*Block, objects []Object) {
	byID := objectsByID(objects)
	var graph dag.Graph
	nodes := map[addrs.AbsResource]dag.ID{}
	for _, b := range blocks {
		if _, added := nodes[b.Addr.Abs()]; !added {
			nodes[b.Addr.Abs()] = graph.Add()
		}
	}
	for _, b := range blocks {
		b.Refs = map[string]addrs.AbsInstance{}
		eachString(b.Value, func(_ cty.Path, s string) {
			other, ok := byID[s]
			if !ok || other.Abs() == b.Addr.Abs() || other.Module != b.Addr.Module {
				return
			}
			b.Refs[s] = other
			if to, generated := nodes[other.Abs()]; generated {
				graph.Connect(nodes[b.Addr.Abs()], to)
			}
		})
	}
	cyclic := graph.Cyclic()
	for _, b := range blocks {
		maps.DeleteFunc(b.Refs, func(_ string, other addrs.AbsInstance) bool {
			to, generated := nodes[other.Abs()]
			return generated && cyclic[to] && cyclic[nodes[b.Addr.Abs()]]
		})
	}
}

// objectsByID returns the imported objects by ID. It leaves out IDs that occur more than once or are
// names.
func objectsByID(objects []Object) map[string]addrs.AbsInstance {
	byID, count := map[string]addrs.AbsInstance{}, map[string]int{}
	for _, o := range objects {
		id, ok := ID(o.Value)
		if !ok {
			continue
		}
		count[id]++
		if id != "" && o.Imported && !o.named(id) {
			byID[id] = o.Addr
		}
	}
	maps.DeleteFunc(byID, func(id string, _ addrs.AbsInstance) bool { return count[id] > 1 })
	return byID
}

// named reports whether the ID is a name that was chosen, as an argument of the object. Other
// objects may have the same name without any relation.
func (o Object) named(id string) bool {
	found := false
	eachString(o.Value, func(path cty.Path, s string) {
		if s == id && !path.Equals(cty.GetAttrPath("id")) {
			attr := o.Schema.AttributeByPath(path)
			found = found || attr != nil && (attr.Required || attr.Optional)
		}
	})
	return found
}

// ID returns the id attribute of an unmarked object. It returns false if the object has no known
// ID.
func ID(v cty.Value) (string, bool) {
	if v.IsNull() || !v.IsKnown() || !v.Type().HasAttribute("id") {
		return "", false
	}
	id := v.GetAttr("id")
	if id.Type() != cty.String || id.IsNull() || !id.IsKnown() {
		return "", false
	}
	return id.AsString(), true
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
