package engine

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

var configTransformer = &Transformer{
	Name: "Config",
	Doc:  "adds Value, Module and Resource nodes for everything in the module tree",
	Run: func(b *build) tfdiags.Diagnostics {
		b.g.root = b.addModule(b.op.cfg, nil)
		return nil
	},
}

// addModule adds a module with all its content and the modules that it calls.
func (b *build) addModule(cfg *configs.Config, parent *module) *module {
	m := &module{
		path: cfg.Path, cfg: cfg, parent: parent, call: cfg.Call,
		variables: map[string]*value{}, locals: map[string]*value{}, outputs: map[string]*value{},
		calls: map[string]*module{}, resources: map[addrs.Resource]*resource{},
	}
	m.num = len(b.g.modules)
	b.g.modules[m.path] = m
	if parent != nil {
		m.callSlot = len(parent.calls)
		parent.calls[cfg.Call.Name] = m
		m.expand = b.node(KindModule, parent, m.path.String()+" (expand)", &cfg.Call.Range)
		m.expand.Object = m
		m.closed = b.node(KindBarrier, m, m.path.String()+" (close)", &cfg.Call.Range)
	}
	mod := cfg.Module
	for _, name := range slices.Sorted(maps.Keys(mod.Variables)) {
		v := mod.Variables[name]
		b.addValue(m, m.variables, &value{kind: variableValue, name: name, variable: v}, "var."+name, v.Range)
	}
	for _, name := range slices.Sorted(maps.Keys(mod.Locals)) {
		b.addValue(m, m.locals, &value{kind: localValue, name: name}, "local."+name, mod.Locals[name].Range)
	}
	for _, name := range slices.Sorted(maps.Keys(mod.Outputs)) {
		o := mod.Outputs[name]
		v := b.addValue(m, m.outputs, &value{kind: outputValue, name: name, output: o}, "output."+name, o.Range)
		v.node.kept = parent == nil
	}
	for _, addr := range mod.SortedResources() {
		b.addResource(m, mod.Resources[addr])
	}
	for _, name := range slices.Sorted(maps.Keys(mod.Checks)) {
		b.addCheck(m, mod.Checks[name])
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Children)) {
		b.addModule(cfg.Children[name], m)
	}
	return m
}

func (b *build) addValue(m *module, table map[string]*value, v *value, name string, rng hcl.Range) *value {
	v.module, v.slot = m, m.valueSlots
	m.valueSlots++
	v.node = b.node(KindValue, m, inModule(m.path, name), &rng)
	v.node.Object = v
	table[v.name] = v
	b.g.values = append(b.g.values, v)
	return v
}

func (b *build) addCheck(m *module, c *configs.Check) {
	check := &check{cfg: c, module: m}
	check.node = b.node(KindCheck, m, inModule(m.path, "check."+c.Name), &c.Range)
	check.node.kept, check.node.Object = true, check
	m.checks = append(m.checks, check)
}

// addResource adds the resource of a block, with a node that decides its instances before its Steps where there are Steps.
func (b *build) addResource(m *module, cfg *configs.Resource) *resource {
	r := &resource{addr: cfg.Addr.In(m.path), module: m, cfg: cfg}
	b.addResourceNode(r, &cfg.Range)
	if b.op.phase.Applies() {
		r.open = b.node(KindExpand, m, r.addr.String()+" (expand)", &cfg.Range)
		r.open.Resource = r
		b.after(r.node, r.open)
		r.expand = r.open
	}
	return r
}

func (b *build) addResourceNode(r *resource, rng *hcl.Range) {
	m := r.module
	r.slot = m.resourceSlots
	m.resourceSlots++
	r.node = b.node(KindResource, m, r.addr.String(), rng)
	r.node.Resource = r
	r.open, r.expand = r.node, r.node
	m.resources[r.addr.Resource] = r
	b.g.byConfig[r.addr] = r
	r.num = len(b.g.resources)
	b.g.resources = append(b.g.resources, r)
}

var stateTransformer = &Transformer{
	Name:  "State",
	Doc:   "attaches what the state has to the Resource nodes, and adds nodes for resources that are in the state only",
	After: []*Transformer{configTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		if !b.op.phase.Plans() && !b.op.phase.Applies() {
			return nil
		}
		inState := map[addrs.ConfigResource][]*states.Resource{}
		for r := range b.op.prior.Resources() {
			addr := r.Addr.Config()
			inState[addr] = append(inState[addr], r)
		}
		for _, addr := range slices.SortedFunc(maps.Keys(inState), addrs.ConfigResource.Compare) {
			found := inState[addr]
			slices.SortFunc(found, func(x, y *states.Resource) int { return x.Addr.Compare(y.Addr) })
			r := b.g.byConfig[addr]
			if r == nil {
				r = &resource{addr: addr, module: b.stateModule(addr.Module)}
				b.addResourceNode(r, nil)
			}
			r.prior = found
		}
		b.matchRemoved()
		return nil
	},
}

// stateModule gives a module of the tree, making one up for what is in the state only.
func (b *build) stateModule(path addrs.Module) *module {
	if m := b.g.modules[path]; m != nil {
		return m
	}
	m := &module{path: path, num: len(b.g.modules), resources: map[addrs.Resource]*resource{}}
	b.g.modules[path] = m
	return m
}

func inModule(m addrs.Module, name string) string {
	if m.IsRoot() {
		return name
	}
	return m.String() + "." + name
}
