package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/tfdiags"
)

// A value is evaluated in a module instance when an expression first reads it there. The reader is
// visited only after everything is final that the value may read. So all readers get the same result.
//
// Except in a plan, the instances of each resource and module call are also decided when an expression
// first reads them. In an apply, the walk has no nodes for them.

// decided holds, for one module instance, what has been decided on first use.
type decided struct {
	resources []firstUse // indexed by Resource.Slot; their instances
	whole     []firstUse // indexed by Resource.Slot; their values
	calls     []firstUse // indexed by Module.CallSlot

	mu sync.Mutex // guards the values of instances that have no Steps
}

// firstUse does something once, when it is first needed.
type firstUse struct {
	once   sync.Once
	done   atomic.Bool
	failed bool
}

// do calls f on the first call, and reports its error. Later calls wait for the first one. If f failed,
// all calls return errUpstream.
func (u *firstUse) do(e *evaluator, f func(e *evaluator) error) error {
	if !u.done.Load() && e.slotOf != nil { // what is waited for may need the slot for a function of a provider
		defer e.calls.leave(e.slotOf)()
		own := *e
		own.hasSlot, own.slotOf = false, nil
		e = &own
	}
	u.once.Do(func() {
		u.failed = true // also if f panics
		defer u.done.Store(true)
		err := f(e)
		u.failed = err != nil
		e.out.fail(err)
		e.out.report(err)
	})
	if u.failed {
		return errUpstream
	}
	return nil
}

// errUpstream is the error of work that needs something that has failed. It is not reported, because
// the failure is.
var errUpstream = tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "Not evaluated", Extra: leftOutCall{}}.Err()

// addLazy prepares a module instance for an evaluator that evaluates values on first use.
func (e *evaluator) addLazy(in *moduleInstance) {
	if e.lazyCtx == nil {
		return
	}
	in.lazy = make([]firstUse, len(in.values))
	if e.onDemand() {
		in.decided = &decided{resources: make([]firstUse, len(in.resources)),
			whole: make([]firstUse, len(in.resources)), calls: make([]firstUse, len(in.calls))}
	}
}

// valueOf returns the result of a value in one module instance. It is NilVal if v has no value there.
func (c *evalContext) valueOf(v *reads.Value, in *moduleInstance) (cty.Value, error) {
	switch {
	case c.e.early != nil:
		if in.values[v.Slot] == cty.NilVal {
			c.e.early.evaluate(v, in)
		}
	case c.passive && c.visited == v.Node && c.in == in: // a validation of the variable that is evaluated
	case in.lazy != nil && c.e.visits(v.Node):
		err := in.lazy[v.Slot].do(c.e, func(e *evaluator) error {
			e = e.lazily(v.Node)
			if in.undeclared {
				undeclared{e}.evalUndeclared(c.ctx, v, in)
				return nil
			}
			return e.evalValueIn(c.ctx, v, in)
		})
		if err != nil {
			return cty.DynamicVal, err
		}
	}
	return in.values[v.Slot], nil
}

// visits reports whether the walk does the work of a node, in its visit or on first use. An apply
// evaluates whatever is read.
func (e *evaluator) visits(n *reads.Node) bool {
	return !e.over && (!n.Dropped || e.op.Phase.Applies())
}

// lazily returns a copy of the evaluator for evaluations on first use. n is the node of what is
// evaluated.
func (e *evaluator) lazily(n *reads.Node) *evaluator {
	out := e.visiting(n)
	out.passive = true
	return out
}

// expansionIn returns the instances of a resource in a module instance. In a plan, they are nil until
// they are determined.
func (e *evaluator) expansionIn(r *reads.Resource, in *moduleInstance) (*expansion, error) {
	switch {
	case e.early != nil:
		return e.early.expansion(r, in), nil
	case in.decided != nil && e.visits(r.Node) && r.Config != nil && !e.opensAtNode(r):
		err := in.decided.resources[r.Slot].do(e, func(e *evaluator) error {
			x, err := e.lazily(r.Node).values(r).decide(e.lazyCtx, in)
			in.resources[r.Slot] = x
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	x := in.resources[r.Slot]
	if x != nil && x.kept != nil {
		return x, e.values(r).decodeKept(in, x)
	}
	return x, nil
}

// opensAtNode reports whether the node of an ephemeral resource decides its instances and opens them.
func (e *evaluator) opensAtNode(r *reads.Resource) bool {
	return r.Addr.Resource.Mode == addrs.Ephemeral && !r.Opened && e.op.Phase != phase.Eval
}

// decide determines the instances of a resource, other than in a plan.
func (rv resourceValues) decide(ctx context.Context, in *moduleInstance) (*expansion, error) {
	e, r := rv.e, rv.r
	switch {
	case in.undeclared:
		return rv.undeclaredIn(in)
	case e.op.Phase.Destroys():
		return rv.storedIn(in)
	case e.op.Phase == phase.Eval:
		return rv.evaluatedIn(ctx, in)
	}
	x, err := rv.expand(ctx, in)
	if err == nil && len(x.keys) == 0 && x.mode != repeatUnknown {
		// Without instances, no step declares the resource.
		e.out.declare(r.Addr.Resource.InInstance(in.addr), r.Provider.Addr)
	}
	return x, err
}

// callsIn returns the instances of a module call. In a plan, they are nil until they are determined.
func (e *evaluator) callsIn(m *reads.Module, parent *moduleInstance) (*callInstances, error) {
	switch {
	case e.early != nil:
		if parent.calls[m.CallSlot] == nil {
			e.early.expandCall(m, parent)
		}
	case parent.decided != nil && e.visits(m.Expand):
		err := parent.decided.calls[m.CallSlot].do(e, func(e *evaluator) error {
			own := e.lazily(m.Expand)
			if parent.undeclared {
				undeclared{own}.expandUndeclared(e.lazyCtx, m, parent)
				return nil
			}
			err := own.expandCall(e.lazyCtx, m, parent)
			if err != nil && e.graph.LeavesOut(m.Expand, parent.addr) {
				own.expandUnknown(m, parent)
				return nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return parent.calls[m.CallSlot], nil
}

// complete sets the value of the resource in one module instance. All of its Steps there have ended.
func (rv resourceValues) complete(in *moduleInstance) error {
	x := in.resources[rv.r.Slot]
	if x == nil || rv.e.over {
		return nil
	}
	return in.decided.whole[rv.r.Slot].do(rv.e, func(e *evaluator) error { return e.values(rv.r).setWhole(in, x) })
}

// setWhole sets the value of the resource in one module instance, unless it is set.
func (rv resourceValues) setWhole(in *moduleInstance, x *expansion) error {
	if x.value != cty.NilVal {
		return nil
	}
	in.decided.mu.Lock()
	unread := rv.fillFromState(in, x)
	in.decided.mu.Unlock()
	remaining, err := rv.resulting(in, x)
	x.value = rv.whole(remaining)
	rv.e.unfinished.completed(rv.r.Addr.Resource.InInstance(in.addr))
	return tfdiags.Join(unread, err)
}

// moduleIn returns a module instance, or nil if the configuration doesn't declare it.
func (e *evaluator) moduleIn(m *reads.Module, addr addrs.ModuleInstance) (*moduleInstance, error) {
	if m.Parent != nil && m.Config != nil {
		above, _ := addr.Parent()
		parent, err := e.moduleIn(m.Parent, above)
		if err != nil || parent == nil {
			return nil, err
		}
		if _, err := e.callsIn(m, parent); err != nil {
			return nil, err
		}
	}
	return e.modules.at(m, addr), nil
}
