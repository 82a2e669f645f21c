package engine

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// relevantAttributes lists the attributes of resources that the planned changes and output values were made from, followed through
// variables, locals and module outputs. Each named value is looked at once for each module instance, so the cost is that of the
// references.
func (w *walk) relevantAttributes() []plans.RelevantAttribute {
	t := &tracer{w: w, seen: map[tracedValue]bool{}, found: map[string]plans.RelevantAttribute{}, blocks: map[*resource]map[addrs.ModuleInstance]bool{}}
	for _, change := range w.changes.Instances {
		if change.Action != plans.NoOp {
			t.resource(w.byConfig[change.Addr.Config()], change.Addr.Module)
		}
	}
	for _, v := range w.values {
		if v.kind != outputValue || v.node.Run == nil {
			continue
		}
		if change := w.changes.Output(v.name); v.module == w.root && (change == nil || change.Action == plans.NoOp) {
			continue
		}
		for _, in := range v.module.instances {
			t.value(v, in)
		}
	}
	out := make([]plans.RelevantAttribute, 0, len(t.found))
	for _, key := range sortedKeys(t.found) {
		out = append(out, t.found[key])
	}
	return out
}

type tracedValue struct {
	v  *value
	in *moduleInstance
}

type tracer struct {
	w      *walk
	seen   map[tracedValue]bool
	blocks map[*resource]map[addrs.ModuleInstance]bool
	found  map[string]plans.RelevantAttribute
}

// resource follows what a resource block refers to, in one module instance.
func (t *tracer) resource(r *resource, at addrs.ModuleInstance) {
	if r == nil || r.cfg == nil || r.exprs.body == nil || t.blocks[r][at] {
		return
	}
	in := r.module.index[at]
	if in == nil {
		return
	}
	if t.blocks[r] == nil {
		t.blocks[r] = map[addrs.ModuleInstance]bool{}
	}
	t.blocks[r][at] = true
	t.refs(r.exprs.body.Refs, in, r.exprs.rep)
	for _, e := range []*lang.Expr{r.exprs.rep.count, r.exprs.rep.forEach, r.exprs.rep.enabled} {
		if e != nil {
			t.refs(e.Refs, in, repetitionExprs{})
		}
	}
}

func (t *tracer) value(v *value, in *moduleInstance) {
	key := tracedValue{v, in}
	if v == nil || v.expr == nil || t.seen[key] {
		return
	}
	t.seen[key] = true
	if v.kind != variableValue {
		t.refs(v.expr.Refs, in, repetitionExprs{})
		return
	}
	if in.parent != nil {
		t.refs(v.expr.Refs, in.parent, v.module.rep)
	}
}

// refs follows references that are written in a module instance; rep is what count and each mean there.
func (t *tracer) refs(refs lang.Refs, in *moduleInstance, rep repetitionExprs) {
	for _, ref := range refs.Objects {
		switch s := ref.Subject.(type) {
		case addrs.Resource:
			t.add(addrs.Target{Module: in.addr, Resource: s}, ref.Remaining)
		case addrs.ResourceInstance:
			t.add(addrs.Target{Module: in.addr, Resource: s.Resource, Key: s.Key, HasKey: true}, ref.Remaining)
		case addrs.LocalValue:
			t.value(in.module.locals[s.Name], in)
		case addrs.InputVariable:
			t.value(in.module.variables[s.Name], in)
		case addrs.ModuleCall:
			t.call(in, s.Name, nil, "")
		case addrs.ModuleCallInstance:
			t.call(in, s.Name, &s.Key, "")
		case addrs.ModuleCallOutput:
			if s.Call.Key == addrs.NoKey {
				t.call(in, s.Call.Name, nil, s.Output)
			} else {
				t.call(in, s.Call.Name, &s.Call.Key, s.Output)
			}
		case addrs.ForEachAttr:
			if rep.forEach != nil {
				t.refs(rep.forEach.Refs, in, repetitionExprs{})
			}
		case addrs.CountAttr:
			if rep.count != nil {
				t.refs(rep.count.Refs, in, repetitionExprs{})
			}
		}
	}
}

// call follows the outputs of a module call: one or all, of one instance or all.
func (t *tracer) call(in *moduleInstance, name string, key *addrs.InstanceKey, output string) {
	ci, child := in.calls[name], in.module.calls[name]
	if ci == nil || child == nil {
		return
	}
	for i, inst := range ci.of {
		if key != nil && i < len(ci.keys) && ci.keys[i] != *key {
			continue
		}
		if output != "" {
			t.value(child.outputs[output], inst)
			continue
		}
		for _, v := range child.outputs {
			t.value(v, inst)
		}
	}
}

func (t *tracer) add(target addrs.Target, rest hcl.Traversal) {
	var path cty.Path
	for _, step := range rest {
		switch step := step.(type) {
		case hcl.TraverseAttr:
			path = path.GetAttr(step.Name)
		case hcl.TraverseIndex:
			path = path.Index(step.Key)
		}
	}
	t.found[target.String()+tfdiags.FormatPath(path)] = plans.RelevantAttribute{Resource: target, Attr: path}
}
