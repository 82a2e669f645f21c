package graph

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/reads"
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
type configNodes struct{ b *build }

// addModule adds a module with its content and the modules that it calls.
func (t configNodes) addModule(cfg *configs.Config, parent *reads.Module) *reads.Module {
	m := &reads.Module{
		Path: cfg.Path, Config: cfg, Parent: parent, Call: cfg.Call,
		Variables: map[string]*reads.Value{}, Locals: map[string]*reads.Value{}, Outputs: map[string]*reads.Value{},
		Calls: map[string]*reads.Module{}, Resources: map[addrs.Resource]*reads.Resource{},
	}
	m.Index = len(t.b.g.Modules)
	t.b.g.Modules[m.Path] = m
	if parent != nil {
		m.CallSlot = len(parent.Calls)
		parent.Calls[cfg.Call.Name] = m
		m.Expand = t.b.node(reads.KindModule, parent, m.Path.String()+" (expand)", &cfg.Call.Range)
		m.Expand.Object = m
		m.End = t.b.node(reads.KindBarrier, m, m.Path.String()+" (close)", &cfg.Call.Range)
	}
	mod := cfg.Module
	for _, name := range slices.Sorted(maps.Keys(mod.Variables)) {
		v := mod.Variables[name]
		t.addValue(m, m.Variables, &reads.Value{Kind: reads.Variable, Name: name, Variable: v}, "var."+name, v.Range)
	}
	for _, name := range slices.Sorted(maps.Keys(mod.Locals)) {
		t.addValue(m, m.Locals, &reads.Value{Kind: reads.Local, Name: name}, "local."+name, mod.Locals[name].Range)
	}
	for _, name := range slices.Sorted(maps.Keys(mod.Outputs)) {
		o := mod.Outputs[name]
		v := t.addValue(m, m.Outputs, &reads.Value{Kind: reads.Output, Name: name, Output: o}, "output."+name, o.Range)
		v.Node.Kept = parent == nil
	}
	for _, addr := range mod.SortedResources() {
		t.addResource(m, mod.Resources[addr])
	}
	t.b.addActions(m)
	for _, name := range slices.Sorted(maps.Keys(mod.Checks)) {
		t.addCheck(m, mod.Checks[name])
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Children)) {
		t.addModule(cfg.Children[name], m)
	}
	return m
}

func (t configNodes) addValue(
	m *reads.Module, table map[string]*reads.Value, v *reads.Value, name string, rng hcl.Range,
) *reads.Value {
	v.Module, v.Slot = m, m.ValueSlots
	m.ValueSlots++
	v.Node = t.b.node(reads.KindValue, m, reads.InModule(m.Path, name), &rng)
	v.Node.Object = v
	table[v.Name] = v
	t.b.g.Values = append(t.b.g.Values, v)
	return v
}

func (t configNodes) addCheck(m *reads.Module, c *configs.Check) {
	check := &reads.Check{Config: c, Module: m}
	check.Node = t.b.node(reads.KindCheck, m, reads.InModule(m.Path, "check."+c.Name), &c.Range)
	check.Node.Kept, check.Node.Object = true, check
	m.Checks = append(m.Checks, check)
}

// addResource adds a resource block.
func (t configNodes) addResource(m *reads.Module, cfg *configs.Resource) *reads.Resource {
	r := &reads.Resource{Addr: cfg.Addr.In(m.Path), Module: m, Config: cfg}
	t.addResourceNode(r, &cfg.Range)
	return r
}

func (t configNodes) addResourceNode(r *reads.Resource, rng *hcl.Range) {
	m := r.Module
	r.Slot = m.ResourceSlots
	m.ResourceSlots++
	r.Node = t.b.node(reads.KindResource, m, r.Addr.String(), rng)
	r.Node.Resource = r
	r.Inputs = r.Node
	m.Resources[r.Addr.Resource] = r
	r.Index = len(t.b.g.Resources)
	t.b.g.Resources = append(t.b.g.Resources, r)
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
				r = &reads.Resource{Addr: addr, Module: configNodes{b}.stateModule(addr.Module)}
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
func (t configNodes) stateModule(path addrs.Module) *reads.Module {
	if m := t.b.g.Modules[path]; m != nil {
		return m
	}
	m := &reads.Module{Path: path, Index: len(t.b.g.Modules), Resources: map[addrs.Resource]*reads.Resource{}}
	t.b.g.Modules[path] = m
	return m
}
