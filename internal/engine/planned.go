package engine

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/phase"
	"tofu/internal/lang"
	"tofu/internal/plans"
)

// PlannedValues holds the values of a configuration after a plan. Values that are determined during
// the apply are unknown.
type PlannedValues struct{ w *walk }

// EvalPlanned evaluates the variables, locals and outputs of a configuration with the objects of a
// plan. It needs providers only for their functions. If there is an error, it still returns the
// values that don't depend on the cause of the error, but nil if not even the root module could be
// evaluated.
func EvalPlanned(ctx context.Context, cfg *configs.Config, plan *plans.Plan, env *Env) (*PlannedValues, error) {
	op := newOperation(phase.Eval, cfg, plan.Prior, env)
	op.planned, op.timestamp, op.variables = plan.Changes, plan.Timestamp, map[string]Variable{}
	for name, v := range plan.Variables {
		op.variables[name] = Variable{Value: v}
	}
	w, err := evaluateAll(ctx, op)
	if w == nil {
		return nil, err
	}
	return &PlannedValues{w}, err
}

// Modules returns the addresses of the instances of a module, in the order of their keys.
func (p *PlannedValues) Modules(m addrs.Module) []addrs.ModuleInstance {
	module := p.w.graph.Modules[m]
	if module == nil {
		return nil
	}
	var out []addrs.ModuleInstance
	for _, in := range p.w.modules.of(module) {
		out = append(out, in.addr)
	}
	return out
}

// Scope returns a scope for evaluating expressions in a module instance, or nil if there is no such
// instance. Only one expression may be evaluated at a time.
func (p *PlannedValues) Scope(ctx context.Context, in addrs.ModuleInstance) *lang.Scope {
	module := p.w.graph.Modules[in.Module()]
	if module == nil || p.w.modules.at(module, in) == nil {
		return nil
	}
	return p.w.eval.newContext(ctx, p.w.modules.at(module, in), repetition{}).scope()
}

// Value returns the value of a variable, local or output in an instance of its module. It returns
// cty.NilVal if there is no such value or it could not be evaluated.
func (p *PlannedValues) Value(in addrs.ModuleInstance, subject addrs.Referenceable) cty.Value {
	module := p.w.graph.Modules[in.Module()]
	if module == nil {
		return cty.NilVal
	}
	inst, v := p.w.modules.at(module, in), module.Named(subject).Value
	if inst == nil || v == nil {
		return cty.NilVal
	}
	return inst.values[v.Slot]
}

// Objects returns the values of a resource's instances in an instance of its module, by key. An
// object that is not known yet is an unknown value. The result is nil if the resource or the module
// instance doesn't exist.
func (p *PlannedValues) Objects(in addrs.ModuleInstance, r addrs.Resource) map[addrs.InstanceKey]cty.Value {
	module := p.w.graph.Modules[in.Module()]
	if module == nil || module.Resources[r] == nil {
		return nil
	}
	inst := p.w.modules.at(module, in)
	if inst == nil || inst.resources[module.Resources[r].Slot] == nil {
		return nil
	}
	x := inst.resources[module.Resources[r].Slot]
	out := make(map[addrs.InstanceKey]cty.Value, len(x.keys))
	for i, key := range x.keys {
		out[key] = x.objs[i]
		if x.objs[i] == cty.NilVal {
			out[key] = cty.DynamicVal
		}
	}
	return out
}

// fillFromPlan sets the values of instances to their objects in the plan that the operation
// evaluates.
func (rv resourceValues) fillFromPlan(in *moduleInstance, x *expansion) {
	if rv.e.op.planned == nil {
		return
	}
	abs := rv.r.Addr.Resource.InInstance(in.addr)
	for i, key := range x.keys {
		c := rv.e.op.planned.Instance(abs.Instance(key), addrs.NotDeposed)
		if c != nil && !c.After.IsNull() {
			x.objs[i] = c.After
			if c.Action == plans.Read && mayFindNothing(rv.r) { // it may be null
				x.objs[i] = cty.UnknownVal(rv.r.Schema.Block.ImpliedType())
			}
		}
	}
}
