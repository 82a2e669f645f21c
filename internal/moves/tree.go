package moves

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
)

// stateModule is a node in the tree of the module instances that contain objects in the state,
// directly or in other module instances. With this tree, the objects of a statement are found
// without searching the whole state.
type stateModule struct {
	addr      addrs.ModuleInstance
	key       addrs.InstanceKey
	children  map[string]map[addrs.InstanceKey]*stateModule
	resources map[addrs.Resource]bool
}

// insert adds a resource to the tree with the root p.
func (p *stateModule) insert(addr addrs.AbsResource) {
	for _, step := range addr.Module.Steps() {
		next := p.children[step.Name][step.Key]
		if next == nil {
			next = &stateModule{addr: p.addr.Child(step.Name, step.Key), key: step.Key}
			if p.children == nil {
				p.children = map[string]map[addrs.InstanceKey]*stateModule{}
			}
			if p.children[step.Name] == nil {
				p.children[step.Name] = map[addrs.InstanceKey]*stateModule{}
			}
			p.children[step.Name][step.Key] = next
		}
		p = next
	}
	if p.resources == nil {
		p.resources = map[addrs.Resource]bool{}
	}
	p.resources[addr.Resource] = true
}

// remove removes a resource from the tree with the root p.
func (p *stateModule) remove(addr addrs.AbsResource) {
	if found := p.match(exactly(addr.Module), nil); len(found) == 1 {
		delete(found[0].resources, addr.Resource)
	}
}

// exactly returns the steps that lead to a module instance.
func exactly(m addrs.ModuleInstance) []endStep {
	var out []endStep
	for _, s := range m.Steps() {
		out = append(out, endStep{name: s.Name, key: s.Key})
	}
	return out
}

// match appends the module instances that match the steps, sorted.
func (p *stateModule) match(steps []endStep, out []*stateModule) []*stateModule {
	if len(steps) == 0 {
		return append(out, p)
	}
	byKey := p.children[steps[0].name]
	if !steps[0].anyKey {
		if next := byKey[steps[0].key]; next != nil {
			out = next.match(steps[1:], out)
		}
		return out
	}
	for _, key := range slices.SortedFunc(maps.Keys(byKey), addrs.InstanceKey.Compare) {
		out = byKey[key].match(steps[1:], out)
	}
	return out
}

// all appends the resources in a module instance and in the module instances within it, sorted.
func (p *stateModule) all(out []addrs.AbsResource) []addrs.AbsResource {
	for _, r := range slices.SortedFunc(maps.Keys(p.resources), addrs.Resource.Compare) {
		out = append(out, r.InInstance(p.addr))
	}
	for _, name := range sortedNames(p.children) {
		for _, key := range slices.SortedFunc(maps.Keys(p.children[name]), addrs.InstanceKey.Compare) {
			out = p.children[name][key].all(out)
		}
	}
	return out
}
