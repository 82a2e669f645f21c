package genconfig

import (
	"maps"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/dag"
)

// Imported is an object that is imported in the same run.
type Imported struct {
	Addr  addrs.AbsInstance
	Value cty.Value // unmarked
}

// References returns, for each generated block, the expressions that replace the IDs of other
// imported objects, by ID. An ID is not replaced if several objects have it, or if the references
// would form a cycle between blocks.
func References(blocks map[addrs.AbsInstance]*Block, imported []Imported) map[addrs.AbsInstance]map[string]string {
	byID := objectsByID(imported)
	var graph dag.Graph
	nodes := map[addrs.AbsInstance]dag.ID{}
	for addr := range blocks {
		nodes[addr] = graph.Add()
	}
	refs := map[addrs.AbsInstance]map[string]string{}
	for addr, block := range blocks {
		refs[addr] = map[string]string{}
		eachString(block.Value, func(s string) {
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

// objectsByID returns the objects of the root module by ID. It leaves out IDs that occur more than
// once.
func objectsByID(imported []Imported) map[string]addrs.AbsInstance {
	byID, twice := map[string]addrs.AbsInstance{}, map[string]bool{"": true}
	for _, o := range imported {
		id, ok := ID(o.Value)
		if !ok || !o.Addr.Module.IsRoot() {
			continue
		}
		_, known := byID[id]
		twice[id] = twice[id] || known
		byID[id] = o.Addr
	}
	maps.DeleteFunc(byID, func(id string, _ addrs.AbsInstance) bool { return twice[id] })
	return byID
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
func eachString(v cty.Value, visit func(string)) {
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
			visit(v.AsString())
		}
		return true, nil
	})
}
