package engine

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// fillFromState sets the values of instances to their stored objects, unless a step of this walk
// has already set them.
func (rv resourceValues) fillFromState(in *moduleInstance, x *expansion) error {
	e, r := rv.e, rv.r
	var errs tfdiags.Diagnostics
	abs := r.Addr.Resource.InInstance(in.addr)
	e.out.mu.Lock()
	stored := e.out.state.Resource(abs)
	objs := make([]*states.Object, len(x.keys))
	if stored != nil {
		for i, key := range x.keys {
			if inst := stored.Instances[key]; inst != nil {
				objs[i] = inst.Current
			}
		}
	}
	e.out.mu.Unlock()
	for i, obj := range objs {
		switch {
		case x.objs[i] != cty.NilVal:
		case obj != nil:
			errs = errs.AppendError(x.fill(i, r, abs.Instance(x.keys[i]), obj))
		default:
			x.objs[i] = rv.nothing()
		}
	}
	return errs.Err()
}

// nothing returns the value of an instance that has no object in the state: null for a data source that
// may find nothing, and otherwise NilVal.
func (rv resourceValues) nothing() cty.Value {
	if !mayFindNothing(rv.r) {
		return cty.NilVal
	}
	return cty.NullVal(rv.r.Schema.Block.ImpliedType())
}

// mayFindNothing reports whether the resource is a data source whose value may be null.
func mayFindNothing(r *reads.Resource) bool {
	return r.Config != nil && r.Config.Lifecycle.IgnoreMissing.Value
}

// object returns the value of the i-th instance in an apply: the result of its Step or, if it has
// none, its object in the state. It is NilVal if there is no such object.
func (rv resourceValues) object(in *moduleInstance, x *expansion, i int) cty.Value {
	in.decided.mu.Lock()
	defer in.decided.mu.Unlock()
	if x.objs[i] == cty.NilVal {
		addr := rv.r.Addr.Resource.InInstance(in.addr).Instance(x.keys[i])
		x.objs[i] = rv.nothing()
		if obj := rv.e.out.current(addr); obj != nil {
			_ = x.fill(i, rv.r, addr, obj) // a reader of the whole resource reports the error
		}
	}
	return x.objs[i]
}

// fill sets the value of the i-th instance to a stored object.
func (x *expansion) fill(i int, r *reads.Resource, addr addrs.AbsInstance, obj *states.Object) error {
	v, err := decode(r, addr, obj)
	if err == nil {
		x.objs[i] = v
	}
	return err
}

// decode returns the value of a stored object.
func decode(r *reads.Resource, addr addrs.AbsInstance, obj *states.Object) (cty.Value, error) {
	v, err := obj.Decode(r.Schema.Block.ImpliedType())
	if err != nil {
		return cty.NilVal, tfdiags.Errorf("Invalid object in the state",
			"%s can't be read with the provider's current schema: %s. If the provider was upgraded, "+
				"\"tofu apply -refresh-only\" converts the object.", addr, err)
	}
	return markStored(r.Schema.Block, v, nil), nil
}

// fromState sets the instances and values of a resource from the state. It doesn't evaluate count
// or for_each.
func (rv resourceValues) fromState() error {
	e, r := rv.e, rv.r
	var errs tfdiags.Diagnostics
	if r.Config == nil {
		return nil
	}
	for _, in := range e.modules.of(r.Module) {
		x, err := rv.storedIn(in)
		errs = errs.AppendError(err)
		in.resources[r.Slot] = x
	}
	return errs.AppendError(rv.completeUndeclared()).Err()
}

// expandStored returns the instances of a resource in one module instance from the state, without values.
func (rv resourceValues) expandStored(in *moduleInstance) *expansion {
	rep := rv.r.Exprs.Repetition
	stored := rv.e.op.Prior.Resource(rv.r.Addr.Resource.InInstance(in.addr))
	return newExpansion(expandedKeys{mode: modeOf(rep), keys: storedKeys(rep, stored)})
}

// setStored completes the instances of a resource in one module instance with values from the state, and
// sets them unless they were read before.
func (rv resourceValues) setStored(in *moduleInstance, x *expansion) error {
	return in.decided.resources[rv.r.Slot].do(rv.e, func(*evaluator) error {
		err := rv.fillFromState(in, x)
		x.value = rv.whole(x)
		in.resources[rv.r.Slot] = x
		return err
	})
}

// storedIn returns the instances and values of a resource in one module instance from the state.
func (rv resourceValues) storedIn(in *moduleInstance) (*expansion, error) {
	x := rv.expandStored(in)
	err := rv.fillFromState(in, x)
	x.value = rv.whole(x)
	return x, err
}
