package graph

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/states"
)

var configTransformer = &Transformer{
	Name: "Config",
	Doc:  "adds Value, Module and Resource nodes for everything in the module tree",
	Run: func(_ context.Context, b *build) error {
		b.g.Root = configNodes{b}.addModule(b.op.Config, nil)
		return nil
	},
}

// configNodes adds the nodes of the configuration, and of what only the state has.
type configNodes struct{ *build }

// addModule adds a module with its content and the modules that it calls.
func (b configNodes) addModule(cfg *configs.Config, parent *Module) *Module {
	m := &Module{
		Path: cfg.Path, Config: cfg, Parent: parent, Call: cfg.Call,
		Variables: map[string]*Value{}, Locals: map[string]*Value{}, Outputs: map[string]*Value{},
		Calls: map[string]*Module{}, Resources: map[addrs.Resource]*Resource{},
	}
	m.Index = len(b.g.Modules)
	b.g.Modules[m.Path] = m
	if parent != nil {
		m.CallSlot = len(parent.Calls)
		parent.Calls[cfg.Call.Name] = m
		m.expand = b.node(KindModule, parent, m.Path.String()+" (expand)", &cfg.Call.Range)
		m.expand.Object = m
		m.end = b.node(KindBarrier, m, m.Path.String()+" (close)", &cfg.Call.Range)
	}
	mod := cfg.Module
	for _, name := range slices.Sorted(maps.Keys(mod.Variables)) {
		v := mod.Variables[name]
		b.addValue(m, m.Variables, &Value{Kind: Variable, Name: name, Variable: v}, "var."+name, v.Range)
	}
	for _, name := range slices.Sorted(maps.Keys(mod.Locals)) {
		b.addValue(m, m.Locals, &Value{Kind: Local, Name: name}, "local."+name, mod.Locals[name].Range)
	}
	for _, name := range slices.Sorted(maps.Keys(mod.Outputs)) {
		o := mod.Outputs[name]
		v := b.addValue(m, m.Outputs, &Value{Kind: Output, Name: name, Output: o}, "output."+name, o.Range)
		v.Node.kept = parent == nil
	}
	for _, addr := range mod.SortedResources() {
		b.addResource(m, mod.Resources[addr])
	}
	b.addActions(m)
	for _, name := range slices.Sorted(maps.Keys(mod.Checks)) {
		b.addCheck(m, mod.Checks[name])
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Children)) {
		b.addModule(cfg.Children[name], m)
	}
	return m
}

func (b configNodes) addValue(m *Module, table map[string]*Value, v *Value, name string, rng hcl.Range) *Value {
	v.Module, v.Slot = m, m.ValueSlots
	m.ValueSlots++
	v.Node = b.node(KindValue, m, InModule(m.Path, name), &rng)
	v.Node.Object = v
	table[v.Name] = v
	b.g.Values = append(b.g.Values, v)
	return v
}

func (b configNodes) addCheck(m *Module, c *configs.Check) {
	check := &Check{Config: c, Module: m}
	check.Node = b.node(KindCheck, m, InModule(m.Path, "check."+c.Name), &c.Range)
	check.Node.kept, check.Node.Object = true, check
	m.Checks = append(m.Checks, check)
}

// addResource adds a resource block.
func (b configNodes) addResource(m *Module, cfg *configs.Resource) *Resource {
	r := &Resource{Addr: cfg.Addr.In(m.Path), Module: m, Config: cfg}
	b.addResourceNode(r, &cfg.Range)
	return r
}

func (b configNodes) addResourceNode(r *Resource, rng *hcl.Range) {
	m := r.Module
	r.Slot = m.ResourceSlots
	m.ResourceSlots++
	r.Node = b.node(KindResource, m, r.Addr.String(), rng)
	r.Node.Resource = r
	r.Inputs = r.Node
	m.Resources[r.Addr.Resource] = r
	r.Index = len(b.g.Resources)
	b.g.Resources = append(b.g.Resources, r)
}

var stateTransformer = &Transformer{
	Name:  "State",
	Doc:   "attaches the objects in the state to Resource nodes, and adds nodes for resources that only the state has",
	After: []*Transformer{configTransformer},
	Run: func(_ context.Context, b *build) error {
		if !b.op.Phase.Plans() && !b.op.Phase.Applies() {
			return nil
		}
		inState := map[addrs.ConfigResource][]*states.Resource{}
		for r := range b.op.Prior.Resources() {
			addr := r.Addr.Config()
			inState[addr] = append(inState[addr], r)
		}
		for _, addr := range slices.SortedFunc(maps.Keys(inState), addrs.ConfigResource.Compare) {
			found := inState[addr]
			slices.SortFunc(found, func(x, y *states.Resource) int { return x.Addr.Compare(y.Addr) })
			r := b.g.Resource(addr)
			if r == nil {
				r = &Resource{Addr: addr, Module: configNodes{b}.stateModule(addr.Module)}
				configNodes{b}.addResourceNode(r, nil)
			}
			r.Prior = found
		}
		b.matchRemoved()
		return nil
	},
}

// stateModule returns the module at the given path. A module that is only in the state is first
// added to the graph.
func (b configNodes) stateModule(path addrs.Module) *Module {
	if m := b.g.Modules[path]; m != nil {
		return m
	}
	m := &Module{Path: path, Index: len(b.g.Modules), Resources: map[addrs.Resource]*Resource{}}
	b.g.Modules[path] = m
	return m
}

// InModule returns the name of an object with the path of its module.
func InModule(m addrs.Module, name string) string {
	if m.IsRoot() {
		return name
	}
	return m.String() + "." + name
}
