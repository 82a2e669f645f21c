package genconfig

import (
	"maps"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs/configschema"
	"tofu/internal/dag"
)

// Object is an object of the plan, to which arguments of imported objects may refer.
type Object struct {
	Addr     addrs.AbsInstance
	Schema   *configschema.Block
	Value    cty.Value // unmarked
	Imported bool      // in the same run
}

// References returns, for each generated block, the expressions that replace the IDs of other
// imported objects, by ID. A false reference would replace one object when another is renamed, so an
// ID is not replaced if several objects have it, if it is only a name, or if the references would form
// a cycle between blocks.
func References(blocks map[addrs.AbsInstance]*Block, objects []Object) map[addrs.AbsInstance]map[string]string {
	byID := objectsByID(objects)
	var graph dag.Graph
	nodes := map[addrs.AbsInstance]dag.ID{}
	for addr := range blocks {
		nodes[addr] = graph.Add()
	}
	refs := map[addrs.AbsInstance]map[string]string{}
	for addr, block := range blocks {
		refs[addr] = map[string]string{}
		eachString(block.Value, func(_ cty.Path, s string) {
			other, ok := byID[s]
			if !ok || other == addr {
				return
			}
			refs[addr][s] = other.String() + ".id"
			if to, generated := nodes[other]; generated {
				graph.Connect(nodes[addr], to)
			}
		})
	}
	cyclic := graph.Cyclic()
	for addr, list := range refs {
		maps.DeleteFunc(list, func(id, _ string) bool {
			to, generated := nodes[byID[id]]
			return generated && cyclic[to] && cyclic[nodes[addr]]
		})
	}
	return refs
}

// objectsByID returns the imported objects of the root module by ID. It leaves out IDs that occur
// more than once or are names.
func objectsByID(objects []Object) map[string]addrs.AbsInstance {
	byID, count := map[string]addrs.AbsInstance{}, map[string]int{}
	for _, o := range objects {
		id, ok := ID(o.Value)
		if !ok {
			continue
		}
		count[id]++
		if id != "" && o.Imported && o.Addr.Module.IsRoot() && !o.named(id) {
			byID[id] = o.Addr
		}
	}
	maps.DeleteFunc(byID, func(id string, _ addrs.AbsInstance) bool { return count[id] > 1 })
	return byID
}

// named reports whether the ID is a name: somebody chose it, as an argument of the object. Other
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
