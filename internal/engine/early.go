package engine

import (
	"cmp"
	"maps"
	"slices"

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

// evaluate evaluates a value in one module instance. A value that depends on itself is unknown.
func (f *earlyValues) evaluate(v *reads.Value, in *moduleInstance) {
	in.values[v.Slot] = cty.DynamicVal
	var val cty.Value
	var err error
	switch {
	case v.Kind == reads.Variable:
		val, err = f.e.variableValue(f.e.keysContext(), v, in)
	case len(v.Conditions) > 0 && v.Kind == reads.Output:
		return // unknown, as after a failed precondition: preconditions aren't checked this early
	default:
		val, err = f.e.newContext(f.e.keysContext(), in, repetition{}).eval(v.Expr, cty.DynamicPseudoType)
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
	_ = f.e.expandCall(f.e.keysContext(), m, parent) // errors are reported during the walk
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
	} else if found, err := f.e.values(r).expand(f.e.keysContext(), in); err == nil {
		x = found
	}
	f.expansions[key] = x
	return x
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
		given, err := f.e.givenValue(f.e.keysContext(), v, in)
		if err != nil {
			continue // the evaluation that needs the value reports the error
		}
		if _, err := finalValue(v, in, given); err != nil {
			errs = errs.AppendError(err)
			continue
		}
		errs = errs.AppendError(f.e.validateVariable(f.e.keysContext(), v, in))
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
