package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/reads"
	"tofu/internal/lang/funcs"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// earlyValues evaluates, before a walk, everything that doesn't depend on a resource. It evaluates
// each value, module call or repetition of a resource once, when first needed. Results of resources
// are unknown.
type earlyValues struct {
	e          *evaluator
	expansions map[resourceIn]*expansion // a nil value means that the instances are not known
	expanded   map[callIn]bool
}

type resourceIn struct {
	r  *reads.Resource
	in *moduleInstance
}

type callIn struct {
	m      *reads.Module
	parent *moduleInstance
}

// newEarlyValues returns the early values of an operation. The graph must have its edges.
func newEarlyValues(op *operation, g *graph.Graph) *earlyValues {
	silent := *op
	env := *op.env
	env.Observe, env.Warn = nil, nil
	silent.env = &env
	f := &earlyValues{expansions: map[resourceIn]*expansion{}, expanded: map[callIn]bool{}}
	options := funcs.Options{BaseDir: cmp.Or(op.env.Base, "."), PureOnly: true, PlanTimestamp: op.timestamp,
		Read: op.env.FileRead}
	f.e = &evaluator{op: &silent, graph: g, out: newResults(&silent, nil), providers: &providerPool{},
		modules: make(moduleTree, len(g.Modules)), early: f, builtins: funcs.Table(options)}
	f.e.modules.add(newModuleInstance(g.Root, addrs.RootInstance))
	return f
}

// noCalls returns the context for evaluations before a walk. Providers haven't been started then,
// so provider functions are not called and return unknown values.
func noCalls() context.Context { return context.Background() }

// evaluate evaluates a value in one module instance. A value that depends on itself is unknown.
func (f *earlyValues) evaluate(v *reads.Value, in *moduleInstance) {
	in.values[v.Slot] = cty.DynamicVal
	var val cty.Value
	var err error
	switch {
	case v.Kind == reads.Variable:
		val, err = f.e.variableValue(noCalls(), v, in)
	case len(v.Conditions) > 0 && v.Kind == reads.Output:
		return // unknown, as after a failed precondition: preconditions aren't checked this early
	default:
		val, err = f.e.newContext(noCalls(), in, repetition{}).eval(v.Expr, cty.DynamicPseudoType)
	}
	if err != nil {
		return
	}
	if v.Kind == reads.Output && v.Output.Sensitive.Value {
		val = val.Mark(marks.Sensitive)
	}
	in.values[v.Slot] = val
}

// expandCall determines the instances of a module call if they are known.
func (f *earlyValues) expandCall(m *reads.Module, parent *moduleInstance) {
	if f.expanded[callIn{m, parent}] {
		return
	}
	f.expanded[callIn{m, parent}] = true // mark first: for_each = module.NAME may depend on the call itself
	if x := f.e.eachKeys(m.ChainedTo(), parent); x != nil {
		f.e.addInstances(m, parent, x)
		return
	}
	_ = f.e.expandCall(noCalls(), m, parent) // errors are reported during the walk
}

// moduleAt returns a module instance, or nil if it is not known.
func (f *earlyValues) moduleAt(m *reads.Module, addr addrs.ModuleInstance) *moduleInstance {
	if in := f.e.modules.at(m, addr); in != nil || m.Parent == nil || m.Config == nil {
		return in
	}
	above, _ := addr.Parent()
	parent := f.moduleAt(m.Parent, above)
	if parent == nil || parent.calls[m.CallSlot] != nil {
		return nil
	}
	f.expandCall(m, parent)
	return f.e.modules.at(m, addr)
}

// expansion returns the instances of a resource in one module instance, or nil if they are not
// known.
func (f *earlyValues) expansion(r *reads.Resource, in *moduleInstance) *expansion {
	key := resourceIn{r, in}
	x, known := f.expansions[key]
	if known || in == nil || r.Config == nil {
		return x
	}
	f.expansions[key] = nil
	if of := r.ChainedTo(); of != nil {
		if keys := f.e.eachKeys(of, in); keys != nil {
			x = newExpansion(*keys)
		}
	} else if found, err := f.e.values(r).expand(noCalls(), in); err == nil {
		x = found
	}
	f.expansions[key] = x
	return x
}

// Instances implements reads.EarlyKeys.
func (f *earlyValues) Instances(r *reads.Resource, at addrs.ModuleInstance) ([]addrs.InstanceKey, bool) {
	x := f.expansion(r, f.moduleAt(r.Module, at))
	if x == nil {
		return nil, false
	}
	return x.keys, true
}

// ModuleInstances implements reads.EarlyKeys.
func (f *earlyValues) ModuleInstances(m *reads.Module) ([]addrs.ModuleInstance, bool) {
	all, known := f.allInstances(m)
	out := make([]addrs.ModuleInstance, len(all))
	for i, in := range all {
		out[i] = in.addr
	}
	return out, known
}

// allInstances returns all instances of a module, or false if they are not known.
func (f *earlyValues) allInstances(m *reads.Module) ([]*moduleInstance, bool) {
	if m.Parent == nil {
		return f.e.modules.of(m), true
	}
	parents, known := f.allInstances(m.Parent)
	if !known {
		return nil, false
	}
	var out []*moduleInstance
	for _, parent := range parents {
		if parent.calls[m.CallSlot] == nil {
			f.expandCall(m, parent)
		}
		found := parent.calls[m.CallSlot]
		if found == nil || found.mode == repeatUnknown {
			return nil, false
		}
		out = append(out, found.of...)
	}
	return out, true
}

// Read implements reads.EarlyKeys.
func (f *earlyValues) Read(
	r *reads.Resource, at addrs.ModuleInstance, key addrs.InstanceKey, read reads.KeyedRead,
) ([]reads.KeyRead, bool) {
	in := f.moduleAt(r.Module, at)
	x := f.expansion(r, in)
	if x == nil {
		return nil, false
	}
	i, declared := x.has(key)
	if !declared {
		return nil, true
	}
	return f.keysOf(f.e.newContext(noCalls(), in, x.repetition(i)), read, r.Config.Range)
}

// ReadValue implements reads.EarlyKeys.
func (f *earlyValues) ReadValue(
	v *reads.Value, at addrs.ModuleInstance, read reads.KeyedRead,
) ([]reads.KeyRead, bool) {
	if v.Kind == reads.Variable && !v.PerInstance {
		caller, _ := at.Parent()
		in := f.moduleAt(v.Module.Parent, caller)
		if in == nil {
			return nil, false
		}
		return f.keysOf(f.e.newContext(noCalls(), in, repetition{}), read, v.Expr.Range())
	}
	in := f.moduleAt(v.Module, at)
	switch {
	case in == nil:
		return nil, false
	case v.Kind == reads.Variable:
		return f.keysOf(f.e.newContext(noCalls(), in.parent, in.rep), read, v.Expr.Range())
	}
	return f.keysOf(f.e.newContext(noCalls(), in, repetition{}), read, v.Expr.Range())
}

// keysOf returns the keys that references select in a context. It returns false if some of them are
// not known. References without a source range get the range block.
func (f *earlyValues) keysOf(c *evalContext, read reads.KeyedRead, block hcl.Range) ([]reads.KeyRead, bool) {
	var out []reads.KeyRead
	var keys keySet
	if f.e.op.Phase.InputsUnknown() && len(c.keys().certain(read.Refs, read.Keys())) < len(read.Refs) {
		return nil, false
	}
	for _, ref := range read.Refs {
		found, err := c.keys().keysOf(ref, read.Keys())
		if err != nil {
			return nil, false
		}
		at := ref.Range
		if at.Filename == "" {
			at = block
		}
		for _, key := range found {
			if key != addrs.NoKey && keys.add(key) {
				out = append(out, reads.KeyRead{Key: key, At: at})
			}
		}
	}
	return out, true
}

// validateVariables checks the values of all variables that are known before the walk, also of those
// that no other node reads. It is for walks that must not change anything if a value is invalid:
// people use validation rules to guard against the wrong account.
func (f *earlyValues) validateVariables() error {
	return f.validateVariablesIn(f.e.modules.of(f.e.graph.Root)[0]).Err()
}

// validateVariablesIn checks the variables of a module instance and of the modules that it calls.
func (f *earlyValues) validateVariablesIn(in *moduleInstance) tfdiags.Diagnostics {
	var errs tfdiags.Diagnostics
	for _, name := range slices.Sorted(maps.Keys(in.module.Variables)) {
		v := in.module.Variables[name]
		given, err := f.e.givenValue(noCalls(), v, in)
		if err != nil {
			continue // the evaluation that needs the value reports the error
		}
		if _, err := finalValue(v, in, given); err != nil {
			errs = errs.AppendError(err)
			continue
		}
		errs = errs.AppendError(f.e.validateVariable(noCalls(), v, in))
	}
	for _, name := range slices.Sorted(maps.Keys(in.module.Calls)) {
		call := in.module.Calls[name]
		if in.calls[call.CallSlot] == nil {
			f.expandCall(call, in)
		}
		if x := in.calls[call.CallSlot]; x != nil && x.mode != repeatUnknown {
			for _, inner := range x.of {
				errs = append(errs, f.validateVariablesIn(inner)...)
			}
		}
	}
	return errs
}
