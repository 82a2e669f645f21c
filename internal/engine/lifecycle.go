package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// triggered reports whether one of the instance's replace_triggered_by references changes.
func (p *instancePlan) triggered() (bool, error) {
	if p.w.op.Plan != nil || p.w.op.past != nil {
		// An apply uses the decision of the plan. A plan that restores earlier objects ignores
		// triggers.
		return false, nil
	}
	for _, e := range p.r.Exprs.Triggers {
		if fired, err := p.triggersReplace(e); fired || err != nil {
			return fired, err
		}
	}
	return false, nil
}

// triggersReplace reports whether a change is planned for the target of one replace_triggered_by
// reference. The target is a resource, an instance, or an attribute of an instance.
func (p *instancePlan) triggersReplace(e *lang.Expr) (bool, error) {
	res, key, path, err := p.triggerTarget(e)
	if err != nil {
		return false, err
	}
	if res.Mode != addrs.Managed {
		return false, tfdiags.Errorf("Invalid replace_triggered_by expression",
			"Only managed resources in the same module can trigger a replacement, and %s is not one. To "+
				"trigger it with a value, set the input of a terraform_data resource to the value and refer "+
				"to that resource.", res).At(e.Range())
	}
	r := p.r.Module.Resources[res]
	if r == nil {
		return false, nil // already reported as a reference to something undeclared
	}
	if r == p.r {
		return false, tfdiags.Errorf("Invalid replace_triggered_by expression",
			"The resource can't trigger its own replacement. Refer to another resource.").At(e.Range())
	}
	abs := res.InInstance(p.addr.Module)
	if key != nil {
		fires, found := p.w.out.triggers(abs.Instance(*key), path)
		if !found {
			text, _ := addrs.StepsText(path)
			p.w.out.warn(tfdiags.Warningf("Nothing to trigger a replacement",
				"%s has no %s, neither now nor after the planned changes, so it can't trigger a replacement of %s. "+
					"Check the key.", abs.Instance(*key), strings.TrimPrefix(text, "."), p.addr).At(e.Range()))
		}
		return fires, nil
	}
	x := p.c.in.resources[r.Slot]
	if x == nil {
		return false, nil
	}
	for _, k := range x.keys {
		if fires, _ := p.w.out.triggers(abs.Instance(k), path); fires {
			return true, nil
		}
	}
	return false, nil
}

// triggerTarget parses a replace_triggered_by reference. Its index may be a constant, count.index
// or each.key.
func (p *instancePlan) triggerTarget(e *lang.Expr) (addrs.Resource, *addrs.InstanceKey, hcl.Traversal, error) {
	var res addrs.Resource
	var key *addrs.InstanceKey
	tr, err := reads.TriggerPath(e.Expression, func(key hcl.Expression) (cty.Value, error) {
		return p.c.scope().EvalExpr(key, cty.DynamicPseudoType)
	})
	if err != nil {
		return res, nil, nil, err
	}
	ref, err := addrs.ParseRef(tr, addrs.ModuleScope)
	if err != nil {
		return res, nil, nil, err
	}
	switch s := ref.Subject.(type) {
	case addrs.Resource:
		res = s
		if r := p.r.Module.Resources[s]; r != nil && r.Config != nil && r.Config.Count == nil &&
			r.Config.ForEach == nil {
			key = &addrs.NoKey
		}
	case addrs.ResourceInstance:
		res, key = s.Resource, &s.Key
	default:
		return res, nil, nil, tfdiags.Errorf("Invalid replace_triggered_by expression",
			"Only managed resources in the same module can trigger a replacement.").At(e.Range())
	}
	return res, key, ref.Remaining, nil
}

// triggers reports whether the change planned for an instance triggers a replacement elsewhere. A
// creation, update or replacement does. If path is not empty, the value at path must also differ.
// found is false if the object has no such value, neither before nor after the change.
func (s *results) triggers(addr addrs.AbsInstance, path hcl.Traversal) (fires, found bool) {
	change := s.change(addr)
	if change == nil || change.After == cty.NilVal || change.After.IsNull() || len(path) == 0 {
		return change != nil && firesTriggers(change.Action), true
	}
	// A traversal selects by type, as in expressions: m.key is m["key"] in a map.
	after, noneAfter := path.TraverseRel(unmark(change.After))
	if !firesTriggers(change.Action) {
		return false, !noneAfter.HasErrors()
	}
	before, noneBefore := path.TraverseRel(unmark(change.Before))
	if noneAfter.HasErrors() || noneBefore.HasErrors() {
		found = !noneAfter.HasErrors() || !noneBefore.HasErrors()
		return found || change.Before.IsNull(), found
	}
	return !after.IsWhollyKnown() || !before.RawEquals(after), true
}

// firesTriggers reports whether an action can trigger a replacement elsewhere.
func firesTriggers(a plans.Action) bool {
	switch a {
	case plans.NoOp, plans.Delete, plans.Read, plans.Forget:
		return false
	}
	return true
}

// preventDestroy returns an error if change would destroy an object that prevent_destroy protects.
func (p *instancePlan) preventDestroy(ctx context.Context, change *plans.InstanceChange) error {
	destroys := change.Action == plans.Delete || change.Action == plans.DeleteThenCreate ||
		change.Action == plans.CreateThenDelete
	return p.checkPreventDestroy(ctx, destroys)
}

// checkPreventDestroy evaluates prevent_destroy, and returns an error if it is true and destroys is
// set. An argument that can't be evaluated is always an error. Objects in module instances that are
// no longer declared are protected too, as long as the resource block exists.
func (t *instance) checkPreventDestroy(ctx context.Context, destroys bool) error {
	r, in, addr, w := t.r, t.in, t.addr, t.w
	if r.Config == nil || r.Exprs.PreventDestroy == nil || w.op.PreDestroy {
		return nil // the plan that destroys the objects checks it later
	}
	e, gone := r.Exprs.PreventDestroy, in == nil
	if gone {
		in = w.modules.undeclaredAt(r.Module, addr.Module)
	}
	c := t.newContext(ctx, in, repetition{})
	v, err := c.argument(e, preventDestroyArgument)
	fail := func(detail string) error { return c.argError(preventDestroyArgument.summary, detail, e, v) }
	switch {
	case err != nil:
		return err
	case !destroys:
		return nil
	case v.IsNull():
		return fail("The value is null. It must be true or false when the object would be destroyed.")
	case !v.IsKnown() && gone:
		return fail(fmt.Sprintf("%s is no longer in the configuration, so the values that this depends on are "+
			"gone. Write true to protect its objects or false to let them be destroyed, or keep the module until "+
			"its objects are destroyed.", addr.Module))
	case !v.IsKnown():
		return fail("The value is known only after apply. It must be known when the object would be destroyed.")
	case v.False():
		return nil
	}
	advice := fmt.Sprintf("exclude the object with -exclude='%s'", addr)
	if len(w.op.Targets) > 0 { // -target and -exclude can't be used together
		advice = "choose targets that don't include the object"
	}
	return tfdiags.Errorf("Resource instance cannot be destroyed",
		"%s would be destroyed, but its lifecycle.prevent_destroy is set. Set it to false, or %s.",
		addr, advice).At(r.Config.Range)
}
