package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// A module instance that the configuration no longer declares is in the state until its objects are
// removed. Such an instance has values too: prevent_destroy may depend on them and, if a partial run
// doesn't remove the instance, references to the module call see its outputs. Values are evaluated
// as in other instances, with the arguments of the call as it is now. each.value is gone with its
// key, unless for_each is a set: it and what fails are unknown and marked as absent, so that outputs
// keep their stored values and other arguments that need them are errors. Objects come from the
// state, and nothing is planned from the blocks.

// undeclared decides which undeclared module instances exist, and evaluates their values.
type undeclared struct{ *evaluator }

// storedCalls holds what the state says about the instances of module calls. It is computed when
// first needed.
type storedCalls struct {
	once     sync.Once
	keys     map[storedCall][]addrs.InstanceKey
	stay     map[addrs.ModuleInstance]bool // module instances with objects that the run doesn't remove
	protects map[*reads.Module]bool        // modules with a prevent_destroy that depends on something, or with actions of destructions
	managed  map[*reads.Module]bool        // modules with managed resources
}

type storedCall struct {
	parent addrs.ModuleInstance
	name   string
}

// find computes s for a walk.
func (s *storedCalls) find(e *evaluator) {
	s.keys, s.stay = map[storedCall][]addrs.InstanceKey{}, map[addrs.ModuleInstance]bool{}
	s.protects, s.managed = map[*reads.Module]bool{}, map[*reads.Module]bool{}
	add := func(set map[*reads.Module]bool, m *reads.Module) {
		for ; m != nil && !set[m]; m = m.Parent {
			set[m] = true
		}
	}
	for _, r := range e.graph.Resources {
		if r.Exprs != nil && r.Exprs.PreventDestroy != nil && len(r.Exprs.PreventDestroy.Refs.Objects) > 0 ||
			r.DestroysActions() {
			add(s.protects, r.Module)
		}
		if r.Config != nil && r.Addr.Resource.Mode == addrs.Managed {
			add(s.managed, r.Module)
		}
	}
	if !e.op.Partial() && len(s.protects) == 0 {
		return
	}
	seen := map[addrs.ModuleInstance]bool{}
	for res := range e.op.Prior.Resources() {
		stays := res.Addr.Resource.Mode == addrs.Managed && undeclared{e}.anyStays(res)
		for at := res.Addr.Module; !at.IsRoot() && (!seen[at] || stays && !s.stay[at]); {
			parent, step := at.Parent()
			if call := (storedCall{parent, step.Name}); !seen[at] {
				s.keys[call] = append(s.keys[call], step.Key)
			}
			seen[at], s.stay[at], at = true, s.stay[at] || stays, parent
		}
	}
}

// anyStays reports whether the run leaves some stored instance of a resource as it is, if the
// configuration doesn't declare it.
func (e undeclared) anyStays(res *states.Resource) bool {
	for key := range res.Instances {
		if e.stays(res.Addr.Instance(key)) {
			return true
		}
	}
	return false
}

// stays reports whether an undeclared instance of a resource has an object that the run leaves as it
// is. In a destruction, every object has its value until the end.
func (e undeclared) stays(addr addrs.AbsInstance) bool {
	r := e.graph.Resource(addr.Config())
	switch {
	case e.op.Prior.Current(addr) == nil || r == nil:
		return false
	case e.op.Phase.Destroys():
		return true
	case e.op.Plan != nil:
		return e.op.Plan.Changes.Instance(addr, "") == nil
	case e.op.Mode == plans.RefreshOnly:
		return true
	}
	return !r.Selected.HasOrphan(addr)
}

// instanceStays reports whether an undeclared module instance stays: it has objects, and none of
// those that its values always read is missing or removed.
func (e undeclared) instanceStays(m *reads.Module, at addrs.ModuleInstance) bool {
	return e.stored.stay[at] && e.hasSingleObjects(m, at)
}

// hasSingleObjects reports whether the objects without keys in a module instance stay.
func (e undeclared) hasSingleObjects(m *reads.Module, at addrs.ModuleInstance) bool {
	for addr, r := range m.Resources {
		if r.Config != nil && addr.Mode == addrs.Managed && r.Exprs.Repetition == (reads.Repetition{}) &&
			!e.stays(addr.InInstance(at).Instance(addrs.NoKey)) {
			return false
		}
	}
	for name, call := range m.Calls {
		if call.Repetition == (reads.Repetition{}) && !e.hasSingleObjects(call, at.Child(name, addrs.NoKey)) {
			return false
		}
	}
	return true
}

// addUndeclared adds the undeclared instances of a module call, if their values may be needed. ci
// holds the declared instances.
func (e undeclared) addUndeclared(m *reads.Module, parent *moduleInstance, ci *callInstances) {
	if e.stored == nil || ci.mode == repeatUnknown || !e.op.Partial() && !e.op.Phase.Plans() {
		return
	}
	e.stored.once.Do(func() { e.stored.find(e.evaluator) })
	if !e.op.Partial() && !e.stored.protects[m] {
		return
	}
	all := map[addrs.InstanceKey]*moduleInstance{}
	for i, key := range ci.keys {
		all[key] = ci.of[i]
	}
	for _, key := range e.stored.keys[storedCall{parent.addr, m.Call.Name}] {
		if all[key] != nil {
			continue
		}
		in := e.addUndeclaredInstance(m, parent, key, ci.set)
		if m.Repetition.Matches(key) && e.instanceStays(m, in.addr) {
			all[key] = in
		}
	}
	if e.op.Partial() && len(all) > len(ci.of) {
		ci.resulting = newCallInstances(m, parent, all)
	}
}

// declaredBy returns the instances of a block with for_each = module.NAME: those that the call declares,
// without those that a partial run keeps. in is the module instance of the block. If of isn't a call,
// declaredBy returns x.
func (x *expandedKeys) declaredBy(of *reads.KeyedRead, in *moduleInstance) *expandedKeys {
	if of == nil || of.Call == nil || in.calls[of.Call.CallSlot] == nil ||
		in.calls[of.Call.CallSlot].resulting == nil {
		return x
	}
	out := &expandedKeys{mode: x.mode}
	for i, key := range x.keys {
		if _, declared := in.calls[of.Call.CallSlot].find(key); declared {
			out.keys, out.each = append(out.keys, key), append(out.each, x.each[i])
		}
	}
	return out
}

// newCallInstances returns the given instances of a module call. With count, instances that are
// missing below the largest index have no values.
func newCallInstances(
	m *reads.Module, parent *moduleInstance, all map[addrs.InstanceKey]*moduleInstance,
) *callInstances {
	out := &callInstances{expandedKeys: expandedKeys{mode: modeOf(m.Repetition)}}
	for key := range all {
		out.keys = append(out.keys, key)
	}
	slices.SortFunc(out.keys, addrs.InstanceKey.Compare)
	if m.Repetition.Count != nil {
		out.keys = upToLargest(out.keys)
	}
	for _, key := range out.keys {
		in := all[key]
		if in == nil {
			in = newModuleInstance(m, parent.addr.Child(m.Call.Name, key))
		}
		out.of = append(out.of, in)
	}
	return out
}

func (e undeclared) addUndeclaredInstance(
	m *reads.Module, parent *moduleInstance, key addrs.InstanceKey, set bool,
) *moduleInstance {
	in := newModuleInstance(m, parent.addr.Child(m.Call.Name, key))
	in.parent, in.rep, in.undeclared, in.unknown = parent, unknownRepetition(m.Repetition), true, true
	switch {
	case !m.Repetition.Matches(key):
	case m.Repetition.Count != nil:
		in.rep.countIndex = key.Value()
	case m.Repetition.ForEach != nil:
		in.rep.eachKey, in.rep.eachValue = key.Value(), cty.DynamicVal.Mark(marks.Absent)
		if set {
			in.rep.eachValue = key.Value()
		}
	}
	e.addLazy(in)
	e.modules.add(in)
	return in
}

// expandUndeclared determines the instances of a module call in an undeclared module instance: those
// that stay or, if the module manages nothing, those that the call would have.
func (e undeclared) expandUndeclared(ctx context.Context, m *reads.Module, parent *moduleInstance) {
	x := singleInstance
	if m.Repetition != (reads.Repetition{}) {
		var err error
		x, err = e.newContext(ctx, parent, repetition{}).withoutDeprecations().expand(m.Repetition, m.Path.String())
		if err != nil || e.stored.managed[m] {
			x = &expandedKeys{set: x.set}
		}
	}
	all := map[addrs.InstanceKey]*moduleInstance{}
	for _, key := range e.stored.keys[storedCall{parent.addr, m.Call.Name}] {
		in := e.addUndeclaredInstance(m, parent, key, x.set)
		if m.Repetition.Matches(key) && e.instanceStays(m, in.addr) {
			all[key] = in
		}
	}
	for i, key := range x.keys {
		if all[key] == nil {
			all[key] = e.addUndeclaredInstance(m, parent, key, x.set)
			all[key].rep = x.repetition(i)
		}
	}
	parent.calls[m.CallSlot] = newCallInstances(m, parent, all)
	if len(all) == 0 && m.Repetition.Enabled != nil {
		parent.calls[m.CallSlot].mode = repeatDisabled
	}
}

// evalUndeclared evaluates a variable, local or output in an undeclared module instance.
func (e undeclared) evalUndeclared(ctx context.Context, v *reads.Value, in *moduleInstance) {
	val, err := cty.DynamicVal, error(nil)
	switch v.Kind {
	case reads.Variable:
		if v.ReadsCall(v.Module) { // the other instances may need this one
			val = val.Mark(marks.Absent)
			break
		}
		val, err = e.variableValue(ctx, v, in)
	case reads.Local:
		val, err = e.contextOf(ctx, v, in).eval(v.Expr, cty.DynamicPseudoType)
	case reads.Output:
		val, err = e.contextOf(ctx, v, in).eval(v.Expr, cty.DynamicPseudoType)
		val = marks.Declared(val, v.Output.Sensitive.Value, v.Output.Ephemeral.Value)
	}
	if err != nil {
		val = cty.DynamicVal.Mark(marks.Absent)
	}
	in.values[v.Slot] = val
}

// absent reports whether a part of v is unknown and never becomes known.
func absent(v cty.Value) bool { return marks.Contains(v, marks.Absent) && !v.IsWhollyKnown() }

const (
	valueGone       = "Value that is gone"
	valueGoneDetail = "This depends on something that has no value any more and gets none, because the plan leaves it " +
		"out: on each.value or an argument of a module instance that stays although the configuration no longer has " +
		"its key, on a value that can't be evaluated for such an instance, or on a data source that reads one of " +
		"these. Let the plan include that instance, or leave out what depends on it (see -target and -exclude)."
)

// completeUndeclared sets the values of a resource in the undeclared module instances of a partial
// run. They contain the objects that the run doesn't remove.
func (rv resourceValues) completeUndeclared() error {
	e, r := rv.e, rv.r
	var errs tfdiags.Diagnostics
	if !e.op.Partial() || r.Config == nil || r.Schema == nil {
		return nil
	}
	for _, in := range e.modules.undeclared(r.Module) {
		x, err := rv.undeclaredIn(in)
		errs = errs.AppendError(err)
		in.resources[r.Slot] = x
	}
	return errs.Err()
}

// undeclaredIn returns the instances and values of a resource in one undeclared module instance.
func (rv resourceValues) undeclaredIn(in *moduleInstance) (*expansion, error) {
	e, r := rv.e, rv.r
	var errs tfdiags.Diagnostics
	rep, abs := r.Exprs.Repetition, r.Addr.Resource.InInstance(in.addr)
	x := newExpansion(expandedKeys{mode: modeOf(rep), keys: storedKeys(rep, e.op.Prior.Resource(abs))})
	for i, key := range x.keys {
		addr := abs.Instance(key)
		obj := e.out.current(addr)
		if e.op.Phase.Destroys() || r.Addr.Resource.Mode == addrs.Data { // may already be gone
			obj = e.op.Prior.Current(addr)
		}
		if obj != nil && (undeclared{e}).stays(addr) {
			errs = errs.AppendError(x.fill(i, r, addr, obj))
		}
	}
	x, err := rv.resulting(in, x)
	errs = errs.AppendError(err)
	x.value = rv.whole(x)
	return x, errs.Err()
}
